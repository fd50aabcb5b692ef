//go:build !linux

package deadline

import "syscall"

// processAttributes: a command has a group of its own. It may outlive this process if that is
// killed.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
