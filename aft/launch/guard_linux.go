package launch

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/craft-go/craft/aft/internal/guard"
)

// leftNothing reports whether a guard that has ended, and was not reaped, says that all its daemon has started has
// ended, too.
func leftNothing(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Code == childExited && statusOf(&info) == exitOK
}

// fenceNode ends the node whose guard is a child of this process, or the agent that
// leads to it.
func (n *node) fenceNode() {
	pid := n.cmd.Process.Pid
	if !n.Local {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // it may have ended
		return
	}
	_ = syscall.Kill(pid, guard.FenceSignal)
	_ = syscall.Kill(pid, syscall.SIGCONT)
	time.AfterFunc(fenceLimit, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if !n.dead {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	})
}

// fenceLimit is how long a guard may take to end its node. What it has not found then
// is looked for by session.
const fenceLimit = 2 * time.Second
