package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/guard"
	"github.com/craft-go/craft/aft/internal/nonblock"
	"github.com/craft-go/craft/aft/internal/proc"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/logqueue"
	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/suspend"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// closeTimeout bounds the sending of a daemon's last messages to a root that does
// not take them.
const closeTimeout = 5 * time.Second

// killLimit is how long a daemon that ends waits for processes that it has
// killed. The system may keep one for as long as a file system does not answer;
// it executes nothing any more.
const killLimit = 10 * time.Second

// daemon runs the ranks of a node: a monitor around control.Daemon.
type daemon struct {
	setup   control.Setup
	program *image
	environ []string // of the ranks: of two values of a variable the last counts
	log     logqueue.Logger
	root    *outbox
	starter *starter
	parent  int            // process number
	watched sync.WaitGroup // one for each rank
	left    bequests

	credit     *semaphore.Weighted // the output that is on the way to the root takes of it
	wanted     context.Context     // output is taken as long as it has not ended
	dropOutput context.CancelFunc

	mu      sync.Mutex
	machine *control.Daemon
	timer   *time.Timer
	ranks   map[control.Proc]*rank
	got     map[syscall.Signal]time.Time // when this process has got a signal itself
	end     *control.EndDaemon
	ended   chan struct{} // closed when end is set
	heard   time.Time     // of the root
}

// runDaemon is a daemon's life; the root is at the other end of the standard
// input and output.
func runDaemon() int {
	log := logqueue.New(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	defer log.Flush(closeTimeout)
	in, out, err := takeStdio()
	if err != nil {
		log.Error("the connection to the root", "error", err)
		return exitFailed
	}
	raw, err := in.SyscallConn()
	if err != nil {
		log.Error("the connection to the root", "error", err)
		return exitFailed
	}
	messages := bufio.NewReader(nonblock.NewReader(raw))
	first, err := control.ReadMessage(messages)
	switch {
	case errors.Is(err, control.ErrVersion):
		log.Error("the launcher and this program do not understand each other", "error", err)
		return exitUsage
	case err != nil || first.Kind != control.KindSetup:
		log.Error("a daemon is started by craft run, not by hand: its standard input has to carry the job", "error", err)
		return exitUsage
	}
	d := newDaemon(*first.Setup, newOutbox(out), log) // its starter ends with this process: a start may hang
	defer func() { d.root.close(time.Now().Add(closeTimeout)) }()
	dir, remove, err := d.prepare()
	if err != nil {
		d.send(control.Message{Kind: control.KindError, Error: &control.Error{Text: err.Error()}})
		return exitFailed
	}
	d.environ = slices.Concat(withoutDeadlines(os.Environ()), withoutDeadlines(osstring.To(d.setup.Env)), []string{env.Role + "=" + env.RoleRank, env.NodePath + "=" + dir})
	d.setup.NodePath = osstring.String(dir)
	defer remove()
	return d.run(in, messages)
}

// takeStdio moves the connection away from descriptors 0 and 1, so that nothing
// that is printed by mistake gets into it, and has it polled.
func takeStdio() (in, out *os.File, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = null.Close() }() // it has been copied
	var files [2]*os.File
	for fd := range files {
		moved, err := syscall.Dup(fd)
		if err != nil {
			return nil, nil, os.NewSyscallError("dup", err)
		}
		syscall.CloseOnExec(moved)
		if err := syscall.SetNonblock(moved, true); err != nil {
			return nil, nil, os.NewSyscallError("fcntl", err)
		}
		files[fd] = os.NewFile(uintptr(moved), "root")
		if err := dup2(int(null.Fd()), fd); err != nil {
			return nil, nil, os.NewSyscallError("dup2", err)
		}
	}
	return files[0], files[1], nil
}

// window is how many bytes of output a daemon may have on the way to the root.
const window = 256 << 10

func newDaemon(setup control.Setup, root *outbox, log logqueue.Logger) *daemon {
	d := &daemon{
		setup: setup, log: log, root: root, credit: semaphore.NewWeighted(window), starter: newStarter(), parent: os.Getppid(),
		ranks: make(map[control.Proc]*rank), got: make(map[syscall.Signal]time.Time), ended: make(chan struct{}),
	}
	d.wanted, d.dropOutput = context.WithCancel(context.Background())
	return d
}

// prepare looks at what the ranks will need, and reports to the root.
func (d *daemon) prepare() (dir string, remove func(), err error) {
	host, err := os.Hostname()
	if err != nil {
		return "", nil, err
	}
	ready := &control.Ready{Version: control.Version, Host: host, PID: os.Getpid()}
	if ready.Path, err = lookUp(string(d.setup.Program), string(d.setup.Dir)); err != nil {
		return "", nil, fmt.Errorf("host %s: %w", host, err)
	}
	if d.program, err = openImage(ready.Path); err != nil {
		return "", nil, fmt.Errorf("host %s: %w", host, err)
	}
	if ready.Program, err = identity(ready.Path, d.setup.Hosts); err != nil {
		return "", nil, fmt.Errorf("host %s: %w", host, err)
	}
	if info, err := os.Stat(string(d.setup.Dir)); err != nil || !info.IsDir() {
		return "", nil, fmt.Errorf("host %s: there is no working directory %s", host, d.setup.Dir)
	}
	dir, remove, err = makeNodeDir(&d.setup)
	if err != nil {
		return "", nil, fmt.Errorf("host %s: the node's own storage (--node-path): %w", host, err)
	}
	d.send(control.Message{Kind: control.KindReady, Ready: ready})
	return dir, remove, nil
}

// run is the time between the report to the root and the end of all ranks.
func (d *daemon) run(in *os.File, messages io.Reader) int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, append(guard.ForRanks, syscall.SIGPIPE)...) // standard error may be gone
	defer signal.Stop(signals)

	d.mu.Lock()
	d.machine = control.NewDaemon(d.setup)
	d.timer = time.AfterFunc(time.Hour, func() { d.do((*control.Daemon).Tick) })
	d.arm()
	d.mu.Unlock()
	defer d.watchNotices()()
	var reading sync.WaitGroup
	reading.Go(func() { d.takeCommands(messages) })
	for ended := false; !ended; {
		select {
		case s := <-signals:
			if s != syscall.SIGPIPE {
				d.signalled(s.(syscall.Signal))
			}
		case <-d.ended:
			ended = true
		}
	}
	d.finish()
	_ = in.SetReadDeadline(time.Unix(1, 0))
	reading.Wait()
	return d.end.Code
}

// signalled takes a signal, which is none for a daemon: it goes on until its root, or the
// ranks, have ended. When its parent has ended the system has sent it.
func (d *daemon) signalled(s syscall.Signal) {
	d.do(func(m *control.Daemon, now time.Time) []control.DaemonAction {
		if os.Getppid() != d.parent {
			return m.LostRoot(now, "signal: "+s.String())
		}
		d.got[s] = now
		var all []control.Kill
		for p := range d.ranks { // mostly it goes to all processes
			all = append(all, control.Kill{Proc: p, Signal: int(s)})
		}
		d.noteStarted(all...)
		return m.Signalled(now, int(s))
	})
}

// takeCommands handles the root's messages until there are no more.
func (d *daemon) takeCommands(messages io.Reader) {
	err := receive(messages, func(m control.Message) {
		d.mu.Lock()
		d.heard = time.Now()
		d.mu.Unlock()
		if m.Kind == control.KindCredit {
			d.credit.Release(int64(m.Credit)) // the length of an Output that this daemon has sent
			return
		}
		if m.Kind == control.KindInherit {
			d.bequeath(*m.Inherit)
			return
		}
		d.do(func(machine *control.Daemon, now time.Time) []control.DaemonAction { return machine.FromRoot(now, m) })
	})
	d.dropOutput()
	d.do(func(machine *control.Daemon, now time.Time) []control.DaemonAction {
		return machine.LostRoot(now, fmt.Sprintf("the connection to the root has ended: %v", err))
	})
}

// bequeath tells an heir what it inherits. It may not have been started yet: then it finds it.
func (d *daemon) bequeath(i control.Inherit) {
	list, err := d.left.inherit(i)
	if err != nil {
		d.log.Warn("what a process has left", "proc", i.From, "error", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.ranks[i.To]; r != nil && len(list) > 0 {
		d.sendTo(r, control.Message{Kind: control.KindBequest, Bequests: list}, nil)
	}
}

// do gives the machine an event and carries out what it wants.
func (d *daemon) do(event func(m *control.Daemon, now time.Time) []control.DaemonAction) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.end == nil {
		if d.setup.Remote {
			d.machine.Slept(suspend.Total())
		}
		d.perform(event(d.machine, time.Now()))
		d.arm()
	}
}

// arm sets the timer to when the machine wants to be asked.
func (d *daemon) arm() {
	if next := d.machine.Next(); d.end == nil && !next.IsZero() {
		d.timer.Reset(time.Until(next))
	} else {
		d.timer.Stop()
	}
}

func (d *daemon) perform(actions []control.DaemonAction) {
	var kills []control.Kill
	for _, a := range actions {
		if a.Kill != nil {
			kills = append(kills, *a.Kill)
		}
	}
	others := d.noteStarted(kills...)
	for _, a := range actions {
		switch {
		case a.ToRoot != nil:
			if err := d.root.put(*a.ToRoot); err != nil && d.end == nil { // everybody would wait for it
				d.end = &control.EndDaemon{Code: exitFailed, Why: fmt.Sprintf("a message to the root: %v", err)}
				close(d.ended)
			}
		case a.ToRank != nil:
			if r := d.ranks[a.ToRank.Proc]; r != nil {
				d.sendTo(r, a.ToRank.Message, a.ToRank.Body)
			}
		case a.Start != nil:
			d.start(*a.Start)
		case a.Kill != nil:
			if r := d.ranks[a.Kill.Proc]; r != nil {
				r.signal(syscall.Signal(a.Kill.Signal), others[*a.Kill])
			}
		case a.End != nil && d.end == nil:
			d.end = a.End
			close(d.ended)
		}
	}
}

func (d *daemon) send(m control.Message) {
	if err := d.root.put(m); err != nil {
		d.log.Error("a message to the root", "kind", m.Kind, "error", err)
	}
}

func (d *daemon) sendTo(r *rank, m control.Message, body *control.Body) {
	if err := r.box.putOf(body, m); err != nil {
		d.log.Error("a message to a rank", "proc", r.proc, "kind", m.Kind, "error", err)
	}
}

// start has a process started, whose first message is its setup.
func (d *daemon) start(s control.Start) {
	r, err := newRank(s.Proc)
	if err != nil {
		d.perform(d.machine.Exited(time.Now(), notStarted(s.Proc, err)))
		return
	}
	d.ranks[s.Proc] = r
	own := d.setup
	own.Program, own.Args, own.Env, own.Dir = "", nil, nil, ""
	own.Daemon = procid.This().Encode()
	own.Up = proc.Identity(r.theirs[3])
	d.sendTo(r, control.Message{Kind: control.KindSetup, Setup: &own, Start: []control.Start{s}}, nil)
	d.watched.Go(func() { d.live(r) })
}

// finish kills what is left and returns when all has ended and its output is
// sent, or nobody takes that any more.
func (d *daemon) finish() {
	d.mu.Lock()
	d.timer.Stop()
	for _, r := range d.ranks {
		r.signal(syscall.SIGKILL, outsiders{})
	}
	d.mu.Unlock()
	if d.end.Why != "" { // the root is lost, or thinks that this node is
		d.send(control.Message{Kind: control.KindError, Error: &control.Error{Text: d.end.Why, Ends: true}})
		d.dropOutput()
	}
	d.keepInTouch(endOf(&d.watched))
}

// keepInTouch sees to it that a root which is there, but whose reader is slow, is
// waited for, and one that is gone is not.
func (d *daemon) keepInTouch(done <-chan struct{}) {
	pulse := time.Tick(max(d.setup.Timing.Period, time.Millisecond))
	stuck := time.After(killLimit)
	for seq := uint64(1); ; seq++ {
		select {
		case <-done:
			return
		case <-stuck:
			if d.anyAlive() {
				d.log.Error("a process has been killed but does not end", "limit", killLimit)
				return
			}
		case <-pulse:
		}
		d.send(control.Message{Kind: control.KindPulse, Pulse: &control.Pulse{Seq: seq, Step: -1}})
		d.mu.Lock()
		silence := time.Since(d.heard)
		d.mu.Unlock()
		if silence > d.setup.Timing.Lease+d.setup.Timing.Period {
			d.dropOutput()
		}
	}
}

func (d *daemon) anyAlive() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(slices.Collect(maps.Values(d.ranks)), func(r *rank) bool { return !r.dead })
}
