package launch

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/proc"
	"github.com/craft-go/craft/internal/osstring"
)

// lastLines is how long the report of an exit waits for the rank's last output
// to be sent, which takes longer only if nobody takes output over.
const lastLines = 25 * time.Millisecond

// rank is a process of the program, as its daemon sees it.
type rank struct {
	pipes

	proc    control.Proc
	control *drainable // its messages
	ended   time.Time  // when its end was seen, which is told later; zero: at once
	// impostor: it is perhaps another program.
	impostor bool
	panic    atomic.Pointer[string] // what it has said on standard error of its end

	// Under the daemon's lock:
	cmd     *exec.Cmd        // nil: it does not run yet
	joined  bool             // the program has sent something
	program *joinedProgram   // nil: it is the process itself, or is not known
	due     []syscall.Signal // what it is to get then
	signals occasions
	late    syscall.Signal // one that asks for the end and has come when the script had ended
	// dead: the process has ended, and its number is not to be used any more.
	dead bool
}

// newRank makes the connection and the pipes of a process. What is sent waits in them
// until it runs.
func newRank(proc control.Proc) (*rank, error) {
	p, err := newPipes()
	if err != nil {
		return nil, err
	}
	up, theirs, err := os.Pipe()
	if err != nil {
		p.release()
		closeAll(p.theirs)
		return nil, err
	}
	p.theirs = append(p.theirs, theirs)
	return &rank{pipes: p, proc: proc, control: newDrainable(up), signals: make(occasions)}, nil
}

// live starts a process and follows it to its end. The file system of the program may
// take its time: nobody waits for that.
func (d *daemon) live(r *rank) {
	err := d.execute(r)
	closeAll(r.theirs)
	if err == nil {
		d.watch(r)
		return
	}
	d.mu.Lock()
	r.dead = true
	d.mu.Unlock()
	r.release()
	_ = r.control.file.Close() // nobody has written to it
	d.do(func(m *control.Daemon, now time.Time) []control.DaemonAction {
		return m.Exited(now, notStarted(r.proc, err))
	})
}

// execute starts the process of a rank.
func (d *daemon) execute(r *rank) error {
	path, replaced, started, err := d.program.find()
	if err != nil {
		return err
	}
	defer started()
	if replaced {
		d.log.Warn("the program's file was replaced since the job began: the old one is started", "path", d.program.path)
	}
	cmd := &exec.Cmd{
		Path: path, Args: append([]string{d.program.path}, osstring.To(d.setup.Args)...), Dir: string(d.setup.Dir), Env: d.environ,
		Stdout: r.theirs[1], Stderr: r.theirs[2], ExtraFiles: []*os.File{r.theirs[3], r.theirs[0]}, SysProcAttr: rankAttributes(),
	}
	if err := d.starter.start(cmd); err != nil {
		return startError(cmd, err)
	}
	if !replaced && d.program.anotherIsThere() { // since when, nobody knows
		d.log.Warn("the program's file was replaced while a rank was being started: it is killed, and started again", "path", d.program.path)
		r.impostor = true
		_ = cmd.Process.Kill() // it may have ended
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r.cmd = cmd
	d.send(control.Message{Kind: control.KindStarted, Started: []control.Proc{r.proc}})
	for _, s := range r.due {
		r.signal(s, outsiders{}) // it has started nothing yet
	}
	return nil
}

// signal sends a signal to a process and what it has started.
func (r *rank) signal(s syscall.Signal, others outsiders) {
	switch {
	case r.dead:
	case r.cmd == nil:
		r.due = append(r.due, s)
	default:
		_ = syscall.Kill(-r.cmd.Process.Pid, s) // it may have ended
		if r.program != nil && !others.program {
			r.program.signal(r.cmd.Process.Pid, s)
		}
		for _, p := range others.all {
			p.send(s)
		}
	}
}

// startError is why cmd was not started: for the system it is the program that is not
// there, also when the working directory is not.
func startError(cmd *exec.Cmd, err error) error {
	if _, bad := os.Stat(cmd.Dir + "/."); bad != nil {
		return fmt.Errorf("the job's working directory %s: %w; put it back, or end the job and start it elsewhere", cmd.Dir, errors.Unwrap(bad))
	}
	return err
}

// watch takes everything from a process until it has ended and is reported.
func (d *daemon) watch(r *rank) {
	var messages, following, output sync.WaitGroup
	messages.Go(func() {
		if p := d.meet(r); p != nil {
			following.Go(func() { d.follow(r, p, &messages) })
		}
		d.listen(r)
	})
	output.Go(func() { d.forward(r, 1, r.out) })
	output.Go(func() { d.forward(r, 2, r.errs) })
	stopped := func(is bool) {
		d.do(func(m *control.Daemon, now time.Time) []control.DaemonAction { return m.Stopped(now, r.proc, is) })
	}
	if by, ok := awaitExit(r.cmd.Process.Pid, stopped); ok {
		r.ended = time.Now()
		d.outlast(r, by)
		d.mu.Lock()
		r.dead = true
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // what it has left behind, if anything
		d.mu.Unlock()
	}
	_ = r.cmd.Wait() // its state is reported
	d.mu.Lock()
	r.dead = true
	for _, o := range r.signals {
		o.close()
	}
	d.mu.Unlock()

	r.control.finish()
	r.out.finish()
	r.errs.finish()
	messages.Wait()       // what it has said comes before its end
	if r.program != nil { // no longer written
		r.program.kill() // others may go on without it
	}
	following.Wait()
	_ = r.control.file.Close() // it was only read
	select {
	case <-endOf(&output):
	case <-time.After(lastLines):
	}
	r.box.close(time.Now())
	d.do(func(m *control.Daemon, now time.Time) []control.DaemonAction { return m.Exited(now, exitOf(r)) })
	output.Wait()
}

// endOf is closed when a group has ended. What waits for that ends then, too, or with the process.
func endOf(g *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() { g.Wait(); close(done) }()
	return done
}

// listen handles a rank's messages.
func (d *daemon) listen(r *rank) {
	err := receive(bufio.NewReader(r.control), func(m control.Message) {
		switch m.Kind {
		case control.KindBequest:
			if err := d.left.hold(r.proc, m.Bequests); err != nil {
				d.log.Warn("what a process leaves is not within reach", "proc", r.proc, "error", err)
			}
			return
		case control.KindInherit:
			if err := d.left.drop(r.proc); err != nil {
				d.log.Warn("what a process has inherited", "proc", r.proc, "error", err)
			}
			return
		}
		d.do(func(machine *control.Daemon, now time.Time) []control.DaemonAction {
			return machine.FromRank(now, r.proc, m)
		})
	})
	if errors.Is(err, control.ErrMessage) { // any other end is seen by its exit
		d.log.Warn("a rank is killed: it has sent what is no message", "proc", r.proc, "error", err)
		d.mu.Lock()
		r.signal(syscall.SIGKILL, outsiders{})
		d.mu.Unlock()
	}
}

// forward sends what a rank prints, as fast as the root takes it.
func (d *daemon) forward(r *rank, stream int, from *drainable) {
	defer func() { _ = from.file.Close() }() // it was only read
	var cut lines
	send := func(data []byte) {
		if line := panicLine(data); stream == 2 && line != "" {
			r.panic.Store(&line)
		}
		if d.credit.Acquire(d.wanted, int64(len(data))) == nil {
			d.send(control.Message{Kind: control.KindOutput, Output: &control.Output{Proc: r.proc, Stream: stream, Data: data}})
		}
	}
	buf := make([]byte, maxOutput)
	for {
		n, err := from.Read(buf)
		cut.write(buf[:n], send)
		if err != nil {
			cut.end(send)
			return
		}
	}
}

// exitOf describes how a process has ended.
func exitOf(r *rank) control.Exit {
	state := r.cmd.ProcessState
	e := control.Exit{Proc: r.proc, Code: state.ExitCode(), Why: state.String(), Step: -1}
	if !r.ended.IsZero() {
		e.Ago = time.Since(r.ended)
	}
	if r.impostor { // which has had time to exit
		e.Signal, e.Why = int(syscall.SIGKILL), "its program's file was replaced while it was being started"
		return e
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = int(status.Signal())
	}
	if said := r.panic.Load(); said != nil && e.Code == panicCode {
		e.Panic = *said
	}
	return e
}

// notStarted is the end of a process that could not be started.
func notStarted(p control.Proc, err error) control.Exit {
	return control.Exit{Proc: p, Code: -1, Why: fmt.Sprintf("it could not be started: %v%s", err, proc.LimitHint(err)), Step: -1}
}
