package launch

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/control"
	"github.com/craft-go/craft/internal/env"
)

// lastLines is how long the report of an exit waits for the rank's last output
// to be sent, which takes longer only if nobody takes output over.
const lastLines = 25 * time.Millisecond

// rank is a process of the program, as its daemon sees it.
type rank struct {
	proc    control.Proc
	cmd     *exec.Cmd
	box     *outbox
	control *drainable
	streams [2]*drainable
	// dead: the process has ended, and its number is not to be used any more.
	// Under the daemon's lock.
	dead bool
}

// startRank starts a process with its connection and its pipes.
func (d *daemon) startRank(s control.Start) (*rank, error) {
	var near, far []*os.File
	defer func() {
		for _, f := range far {
			_ = f.Close() // the process has it
		}
	}()
	fail := func(err error) (*rank, error) {
		for _, f := range near {
			_ = f.Close() // nothing was sent
		}
		return nil, err
	}
	mine, theirs, err := socketPair()
	if err != nil {
		return fail(err)
	}
	near, far = append(near, mine), append(far, theirs)
	for range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		near, far = append(near, r), append(far, w)
	}
	cmd := &exec.Cmd{
		Path: d.program, Args: append([]string{d.program}, d.setup.Args...), Dir: d.setup.Dir, Env: d.environ,
		Stdout: far[1], Stderr: far[2], ExtraFiles: []*os.File{theirs}, SysProcAttr: rankAttributes(),
	}
	if err := d.starter.start(cmd); err != nil {
		return fail(err)
	}
	return &rank{
		proc: s.Proc, cmd: cmd, box: newOutbox(mine), control: &drainable{file: mine},
		streams: [2]*drainable{{file: near[1]}, {file: near[2]}},
	}, nil
}

// rankEnviron is the environment of the ranks.
func rankEnviron(own []string, s *control.Setup, dir string) []string {
	e := slices.DeleteFunc(slices.Clone(own), func(kv string) bool { return strings.HasPrefix(kv, env.Role+"=") })
	e = append(e, s.Env...)
	return append(e, env.Role+"="+env.RoleRank, env.NodePath+"="+dir)
}

// watch takes everything from a process until it has ended and is reported.
func (d *daemon) watch(r *rank) {
	var messages, output sync.WaitGroup
	messages.Go(func() { d.listen(r) })
	for i, s := range r.streams {
		output.Go(func() { d.forward(r.proc, i+1, s) })
	}
	if awaitExit(r.cmd.Process.Pid, func(stopped bool) { d.stopped(r.proc, stopped) }) {
		d.mu.Lock()
		r.dead = true
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // what it has left behind, if anything
		d.mu.Unlock()
	}
	_ = r.cmd.Wait() // its state is reported
	d.mu.Lock()
	r.dead = true
	d.mu.Unlock()

	r.control.finish()
	for _, s := range r.streams {
		s.finish()
	}
	messages.Wait() // what it has said comes before its end
	awaitFor(&output, lastLines)
	r.box.close(time.Now())
	d.do(func(m *control.Daemon, now time.Time) []control.DaemonAction { return m.Exited(now, exitOf(r)) })
	output.Wait()
}

func (d *daemon) stopped(p control.Proc, stopped bool) {
	d.do(func(m *control.Daemon, now time.Time) []control.DaemonAction { return m.Stopped(now, p, stopped) })
}

// awaitFor waits for a group, at most so long.
func awaitFor(g *sync.WaitGroup, limit time.Duration) {
	done := make(chan struct{})
	go func() { g.Wait(); close(done) }() // ends with the group, which the caller waits for
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// listen handles a rank's messages.
func (d *daemon) listen(r *rank) {
	in := bufio.NewReader(r.control)
	for {
		m, err := control.ReadMessage(in)
		if errors.Is(err, control.ErrMessage) {
			d.log.Warn("a rank is killed: it has sent what is no message", "proc", r.proc, "error", err)
			d.kill(control.Kill{Proc: r.proc, Signal: int(syscall.SIGKILL)})
			return
		}
		if err != nil {
			return // its end is seen by its exit
		}
		d.do(func(machine *control.Daemon, now time.Time) []control.DaemonAction {
			return machine.FromRank(now, r.proc, m)
		})
	}
}

// forward sends what a rank prints, as fast as the root takes it.
func (d *daemon) forward(proc control.Proc, stream int, from *drainable) {
	defer func() { _ = from.file.Close() }() // it was only read
	var cut lines
	send := func(data []byte) {
		if d.credit.take(len(data)) {
			d.send(control.Message{Kind: control.KindOutput, Output: &control.Output{Proc: proc, Stream: stream, Data: data}})
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
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = int(status.Signal())
	}
	return e
}

// notStarted is the end of a process that could not be started.
func notStarted(p control.Proc, err error) control.Exit {
	return control.Exit{Proc: p, Code: -1, Why: fmt.Sprintf("it could not be started: %v", err), Step: -1}
}
