package testtime

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// others is the processor time that all other processes of the machine have used;
// children that this process has waited for are not others. 0 where nobody says.
func others() time.Duration {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	// In hundredths of a second on every Linux; idle and iowait are not used.
	var user, nice, system, idle, iowait, irq, softirq, steal int64
	if _, err := fmt.Sscanf(string(stat), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal); err != nil {
		return 0
	}
	total := time.Duration(user+nice+system+irq+softirq+steal) * 10 * time.Millisecond
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if syscall.Getrusage(who, &r) == nil {
			total -= time.Duration(r.Utime.Nano() + r.Stime.Nano())
		}
	}
	return total
}
