package deadline

import "syscall"

// processAttributes: a command has a group of its own, and does not outlive this process, whatever
// ends that.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
