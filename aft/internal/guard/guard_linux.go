package guard

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/proc"
)

// Name is what a guard calls itself: who kills the processes of a program by its
// name is to leave the one that cleans up.
const Name = "craft-guard"

// What tells a process that it is a guard, or the daemon below it: names of package env, which imports much.
const (
	role       = "CRAFT_ROLE"
	roleGuard  = "guard"
	roleDaemon = "daemon"
)

// killLimit is how long a guard waits for processes that it has killed, as a daemon does.
const killLimit = 10 * time.Second

// exitFailed is the code of a guard whose daemon has none, or that leaves something behind: 0 means that
// nothing is left.
const exitFailed = 1

// guard is what it knows of its children.
type guard struct {
	parent int // process number, as that of the daemon
	daemon int
	ended  bool
	status syscall.WaitStatus // of the daemon
	alone  bool               // no child is left
}

func init() {
	if os.Getenv(role) == roleGuard {
		os.Exit(run())
	}
}

// run is a guard's life: it ends when all that its daemon has started has.
func run() int {
	_ = os.WriteFile("/proc/self/comm", []byte(Name), 0) // it works without
	adopts := adoptOrphans()
	if adopts != nil {
		warn("what ranks leave behind may survive a killed daemon", adopts)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, append(ForRanks, syscall.SIGCHLD, syscall.SIGCONT, FenceSignal, syscall.SIGPIPE)...)
	g := &guard{parent: os.Getppid()}
	if err := g.start(); err != nil {
		warn("the daemon could not be started"+proc.LimitHint(err), err)
		return exitFailed
	}
	for !g.ended {
		g.onSignal((<-signals).(syscall.Signal))
		g.reap()
	}
	clean := g.cleanUp(signals)
	if !clean {
		warn("a process has been killed but does not end", errors.New(killLimit.String()))
	}
	if clean && adopts == nil && (!g.status.Exited() || g.status.ExitStatus() != 0) {
		_, _ = os.Stdout.WriteString(Gone) // in one piece, or not at all: the root may have gone, too
	}
	if g.status.Signaled() && g.status.Signal() == syscall.SIGKILL {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // as the daemon has ended
	}
	if g.status.Signaled() {
		return 128 + int(g.status.Signal())
	}
	if code := g.status.ExitStatus(); code != 0 || clean && adopts == nil {
		return code
	}
	return exitFailed
}

// warn tells the root, which reads what a guard says.
func warn(text string, err error) {
	_, _ = os.Stderr.WriteString(text + ": " + err.Error() + "\n") // it may be gone
}

// adoptOrphans asks the system for the children of those that have ended.
func adoptOrphans() error {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
	if _, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, setChildSubreaper, 1, 0, 0, 0, 0); err != 0 {
		return os.NewSyscallError("prctl", err)
	}
	return nil
}

// start starts the daemon: the file that runs here, also when another one has taken its place. The system tells
// the daemon when the thread ends that has started it: this one lives as long as the guard.
func (g *guard) start() (err error) {
	runtime.LockOSThread()
	_ = os.Unsetenv(role)
	g.daemon, err = syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Env: append(os.Environ(), role+"="+roleDaemon), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM},
	})
	return err
}

// onSignal takes a signal while there is a daemon.
func (g *guard) onSignal(s syscall.Signal) {
	switch s {
	case syscall.SIGCONT, syscall.SIGTERM:
		if os.Getppid() != g.parent { // the root has ended: a daemon that was stopped is to see that
			_ = syscall.Kill(g.daemon, syscall.SIGCONT)
		}
	case FenceSignal:
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
	mine := func(_ int, s proc.Stat) bool { return s.Parent == os.Getpid() }
	for g.reap(); !g.alone; g.reap() {
		for _, child := range proc.Running(mine) {
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
