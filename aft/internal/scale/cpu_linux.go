package scale

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is how long the processor has worked for this thread.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // it exists since Linux 2.6.12
	return time.Duration(t.Nano())
}
