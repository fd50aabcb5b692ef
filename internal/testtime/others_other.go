//go:build !linux

package testtime

import "time"

func others() time.Duration { return 0 }
