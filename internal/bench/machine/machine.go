// Package machine says where something is measured, and whether others use it meanwhile.
package machine

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// quietEnough is up to how many percent of the machine others may use.
const quietEnough = 10

// WaitUntilQuiet waits, not longer than most, until others leave the machine alone, and
// returns how much of it they use, in percent; 0 where that cannot be seen.
func WaitUntilQuiet(ctx context.Context, most time.Duration) (busy float64) {
	for end := time.Now().Add(most); ; {
		before := used()
		select {
		case <-time.After(min(time.Second, most)):
		case <-ctx.Done():
			return busy
		}
		busy = used().since(before)
		if busy <= quietEnough || time.Now().After(end) {
			return busy
		}
	}
}

// ticks are those of all processors, since the system was started.
type ticks struct{ busy, all float64 }

func (t ticks) since(before ticks) float64 {
	if t.all == before.all {
		return 0
	}
	return 100 * (t.busy - before.busy) / (t.all - before.all)
}

// used reads /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
func used() (t ticks) {
	for i, field := range strings.Fields(firstLine("/proc/stat", "cpu ")) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil || i == 0 || i > 8 {
			continue
		}
		t.all += n
		if i != 4 && i != 5 {
			t.busy += n
		}
	}
	return t
}

// Describe tells of the processors, the memory and the system.
func Describe() string {
	const unknown = "unknown"
	_, cpu, _ := strings.Cut(firstLine("/proc/cpuinfo", "model name"), ": ")
	_, memory, _ := strings.Cut(firstLine("/proc/meminfo", "MemTotal"), ":")
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%d cores of %s, memory %s, %s %s, %s", runtime.NumCPU(), cmp.Or(cpu, unknown), cmp.Or(strings.TrimSpace(memory), unknown), runtime.GOOS, cmp.Or(strings.TrimSpace(string(kernel)), unknown), runtime.Version())
}

// firstLine is the first line of a file that begins so; "" if there is none.
func firstLine(path, prefix string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() // nothing was written
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), prefix) {
			return lines.Text()
		}
	}
	return ""
}
