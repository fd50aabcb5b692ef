//go:build !linux

package scale

import "time"

var began = time.Now()

// threadTime is the time that passes: what the machine does beside is counted too.
func threadTime() time.Duration { return time.Since(began) }
