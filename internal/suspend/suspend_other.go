//go:build !linux

package suspend

import "time"

var start = time.Now()

// Total is how long this machine has slept since the program was started, as far
// as the time of day tells: a program's own clock stands still meanwhile.
func Total() time.Duration {
	now := time.Now()
	return max(0, now.Round(0).Sub(start.Round(0))-now.Sub(start))
}
