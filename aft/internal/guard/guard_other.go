//go:build !linux

package guard

// Name is that of a daemon: without a way to get the children of others there is no guard.
const Name = "craft-daemon"
