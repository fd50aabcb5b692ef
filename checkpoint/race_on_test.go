//go:build race

package checkpoint

const raceEnabled = true
