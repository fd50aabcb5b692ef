package offheap

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"strconv"
)

// Available is how many bytes this process, and all others of its control groups together, can still
// take before the system kills one; math.MaxInt64 if it does not say.
func Available() int64 {
	root := os.DirFS("/")
	return min(systemAvailable(root), groupAvailable(root))
}

// spared is what is left of a limit: for page tables, and for what programs take meanwhile.
func spared(limit int64) int64 { return limit / 64 }

// systemAvailable is what the machine has left.
func systemAvailable(root fs.FS) int64 {
	total, available := int64(0), int64(math.MaxInt64)
	b, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) < 2 {
			continue
		}
		kb, err := strconv.ParseInt(string(f[1]), 10, 64)
		switch name := string(f[0]); {
		case err == nil && name == "MemTotal:":
			total = kb << 10
		case err == nil && name == "MemAvailable:":
			available = kb << 10
		}
	}
	return max(available-spared(total), 0)
}
