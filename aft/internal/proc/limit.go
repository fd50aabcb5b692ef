package proc

import (
	"errors"
	"syscall"
)

// LimitHint is what to do where err is a limit of open files or of processes.
func LimitHint(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return " (a limit of open files is raised by ulimit -n)"
	case errors.Is(err, syscall.EAGAIN):
		return " (a limit of processes, which is raised by ulimit -u, or that of a container or batch job)"
	}
	return ""
}
