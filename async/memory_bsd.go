//go:build unix && !linux

package async

func advise([]byte) {}
