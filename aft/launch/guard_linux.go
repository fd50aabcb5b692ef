package launch

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/craft-go/craft/internal/env"
)

// guardName is what a guard calls itself: who kills the processes of a program by its
// name is to leave the one that cleans up.
const guardName = "craft-guard"

// guard is the parent of a daemon. The system gives it every process that the ranks
// have started when the parents of that process have ended, whatever group or session
// it has made for itself. So it finds all that is left when the daemon has ended, and
// no number that it kills can belong to anybody else: it is freed by the guard alone.
//
// It runs no code of users, whose waiting for children it would disturb.
type guard struct {
	parent int // process number, as that of the daemon
	daemon int
	ended  bool
	status syscall.WaitStatus // of the daemon
	alone  bool               // no child is left
}

// runGuard is a guard's life: it ends when all that its daemon has started has.
func runGuard() int {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	_ = os.WriteFile("/proc/self/comm", []byte(guardName), 0) // it works without
	adopts := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if adopts != nil {
		log.Warn("what ranks leave behind may survive a killed daemon", "error", adopts)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, append(signalsForRanks, syscall.SIGCHLD, syscall.SIGCONT, fenceSignal, syscall.SIGPIPE)...)
	g := &guard{parent: os.Getppid()}
	starter := newStarter()
	defer starter.close()
	// The file that runs here, also when another one has taken its place.
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: os.Args, Env: append(os.Environ(), env.Role+"="+env.RoleDaemon),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM},
	}
	if err := starter.start(cmd); err != nil {
		log.Error("the daemon could not be started"+limitHint(err), "error", err)
		return exitFailed
	}
	g.daemon = cmd.Process.Pid
	for !g.ended {
		g.onSignal((<-signals).(syscall.Signal))
		g.reap()
	}
	clean := g.cleanUp(signals)
	if !clean {
		log.Error("a process has been killed but does not end", "limit", killLimit)
	}
	if g.status.Signaled() && g.status.Signal() == syscall.SIGKILL {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // as the daemon has ended
	}
	if g.status.Signaled() {
		return 128 + int(g.status.Signal())
	}
	if code := g.status.ExitStatus(); code != exitOK || clean && adopts == nil {
		return code
	}
	return exitFailed // 0 means that nothing is left
}

// leftNothing reports whether a guard that has ended, and was not reaped, says that all its daemon has started has
// ended, too.
func leftNothing(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Code == childExited && statusOf(&info) == exitOK
}

// onSignal takes a signal while there is a daemon.
func (g *guard) onSignal(s syscall.Signal) {
	switch s {
	case syscall.SIGCONT, syscall.SIGTERM:
		if os.Getppid() != g.parent { // the root has ended: a daemon that was stopped is to see that
			_ = syscall.Kill(g.daemon, syscall.SIGCONT)
		}
	case fenceSignal:
		_ = syscall.Kill(g.daemon, syscall.SIGKILL) // it may have ended
	}
}

// reap takes over the ends of all children that have ended.
func (g *guard) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			g.alone = true
			return
		case pid == 0:
			return
		case pid == g.daemon:
			g.ended, g.status = true, status
		}
	}
}

// cleanUp kills what is left until nothing is, or for killLimit. The children of what
// it kills come to it, so it looks again.
func (g *guard) cleanUp(signals <-chan os.Signal) bool {
	limit := time.After(killLimit)
	again := time.Tick(10 * time.Millisecond) // one may just be between two parents
	mine := func(_ int, s procStat) bool { return s.parent == os.Getpid() }
	for g.reap(); !g.alone; g.reap() {
		for _, child := range running(mine) {
			_ = syscall.Kill(child, syscall.SIGKILL) // it may belong to another user
		}
		select {
		case <-signals:
		case <-again:
		case <-limit:
			return false
		}
	}
	return true
}

// fenceSignal tells a guard to end its node at once. Nobody else sends it: what Slurm
// sends to all processes of a step (--signal=USR1@60) is for the ranks.
const fenceSignal = syscall.SIGVTALRM

// fenceNode ends the node whose guard is a child of this process, or the agent that
// leads to it.
func (n *node) fenceNode() {
	pid := n.cmd.Process.Pid
	if !n.Local {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // it may have ended
		return
	}
	_ = syscall.Kill(pid, fenceSignal)
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
