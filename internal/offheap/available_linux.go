package offheap

import (
	"bytes"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// Available is how many bytes this process, and all others of its control groups together, can still
// take before the system kills one; math.MaxInt64 if it does not say.
func Available() int64 {
	available := int64(math.MaxInt64)
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range bytes.Lines(b) {
			if f := bytes.Fields(line); len(f) >= 2 && string(f[0]) == "MemAvailable:" {
				if kb, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
					available = kb << 10
				}
			}
		}
	}
	return min(available, groupAvailable())
}

// groupAvailable is what the control group (version 2) of the process, and those around it, have left.
func groupAvailable() int64 {
	left := int64(math.MaxInt64)
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return left
	}
	_, name, found := strings.Cut(strings.TrimSpace(string(b)), "0::")
	for dir := path.Join("/sys/fs/cgroup", name); found && strings.HasPrefix(dir, "/sys/fs/cgroup"); dir = path.Dir(dir) {
		limit, err1 := number(path.Join(dir, "memory.max"))
		used, err2 := number(path.Join(dir, "memory.current"))
		if err1 == nil && err2 == nil {
			left = min(left, max(limit-used+cached(dir), 0))
		}
	}
	return left
}

// cached is what files take of a group's memory and the system gives up first.
func cached(dir string) int64 {
	b, _ := os.ReadFile(path.Join(dir, "memory.stat"))
	for line := range bytes.Lines(b) {
		if rest, found := bytes.CutPrefix(line, []byte("inactive_file ")); found {
			n, _ := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64)
			return n
		}
	}
	return 0
}

func number(file string) (int64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}
