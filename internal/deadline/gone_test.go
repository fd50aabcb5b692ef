package deadline

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// gone reports whether a process has ended; one that nobody has waited for yet has.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}
