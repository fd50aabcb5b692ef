package launch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/guard"
	"github.com/craft-go/craft/internal/env"
)

// graceAfterEOF is how long a daemon or an agent may take to exit after it has
// closed its output.
const graceAfterEOF = 300 * time.Millisecond

// node is a daemon, as the root sees it: a child, or an agent that leads to it.
type node struct {
	nodePlan
	pipes // its messages come by its standard output

	id   control.Node
	cmd  *exec.Cmd
	last []string // lines of its diagnostics; their reader's, until that has ended
	// broken is why its messages cannot be read; set by its reader.
	broken error
	// spoken: a message has come. unsure: its process has ended in a way from which it does not
	// follow that its ranks have; cut: it is not to be used again. Under the root's lock.
	spoken, unsure, cut bool
	owed                int // bytes of output for which it has got no credit; under the root's lock

	mu     sync.Mutex
	dead   bool // it was not started or has ended: its number is not to be used
	fenced bool // it is to be killed, also if it does not run yet
}

// newNode makes the pipes of a node. What is sent waits in them until it runs.
func newNode(p *plan, id control.Node) (*node, error) {
	n := &node{nodePlan: p.nodes[id], id: id, dead: true}
	var err error
	if n.pipes, err = newPipes(); err != nil {
		return nil, err
	}
	if n.agent == nil {
		n.cmd = exec.Command(p.executable)
		n.cmd.Args = []string{guard.Name}
		n.cmd.Env = append(os.Environ(), env.Role+"="+env.RoleGuard)
		n.cmd.SysProcAttr = daemonAttributes()
	} else {
		n.cmd = agentCommand(n.agent, n.Name, p.executable)
		n.cmd.SysProcAttr = agentAttributes()
	}
	n.cmd.Stdin, n.cmd.Stdout, n.cmd.Stderr = n.theirs[0], n.theirs[1], n.theirs[2]
	return n, nil
}

// pipes are what a process is connected by.
type pipes struct {
	box       *outbox    // to the process
	out, errs *drainable // its standard output and standard error
	theirs    []*os.File // the other ends, until the process has them
}

func newPipes() (pipes, error) {
	var near, far []*os.File
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(near, far...))
			return pipes{}, err
		}
		if i == 0 {
			r, w = w, r
		}
		near, far = append(near, r), append(far, w)
	}
	return pipes{newOutbox(near[0]), newDrainable(near[1]), newDrainable(near[2]), far}, nil
}

// release frees the ends here, when the process has ended or was never started.
func (p *pipes) release() {
	p.box.close(time.Now())
	closeAll([]*os.File{p.out.file, p.errs.file})
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing was sent, or it was only read
	}
}

// start starts the process. The file system may take its time for that, and fence
// waits for nothing.
func (n *node) start(s *starter) error {
	err := s.start(n.cmd)
	closeAll(n.theirs)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = err != nil
	if n.fenced && !n.dead {
		n.fenceNode()
	}
	return err
}

// fence kills the process.
func (n *node) fence() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fenced = true
	if !n.dead {
		n.fenceNode()
	}
}

// watch hands on a node's messages and diagnostics until its process has ended.
// certain: so have its ranks, as the system says, or the guard of a host, where an agent goes on to
// bring its word.
func (n *node) watch(message func(control.Message), diagnostic func(string)) (why string, certain bool) {
	var reading sync.WaitGroup
	gone := false
	take := func(m control.Message) {
		if m.Kind == control.KindGone {
			gone = true
			return
		}
		message(m)
	}
	reading.Go(func() {
		if err := receive(bufio.NewReader(n.out), take); errors.Is(err, control.ErrMessage) {
			n.broken = err
		}
		hasty := time.AfterFunc(graceAfterEOF, n.fence)
		if n.broken != nil {
			hasty.Reset(0)
		}
	})
	reading.Go(func() { n.readDiagnostics(diagnostic) })
	if _, ok := awaitExit(n.cmd.Process.Pid, func(bool) {}); ok { // a stopped daemon is silent
		certain = n.Local && (leftNothing(n.cmd.Process.Pid) || killSession(n.cmd.Process.Pid))
		n.markDead()
	}
	_ = n.cmd.Wait() // its state is reported
	n.markDead()
	n.out.finish()
	n.errs.finish()
	reading.Wait()
	return n.exitReason(), certain || gone
}

// lostConnection is the exit code of ssh for what is its own error.
const lostConnection = 255

// doubt is what the end of the process leaves open where the root was not certain about its ranks: an
// agent may have a code of its own for that of its daemon, and if it was killed, or has lost its
// connection, nobody has heard of the end of that.
func (n *node) doubt(certain bool) (unsure, cut bool) {
	state := n.cmd.ProcessState
	if certain || !n.spoken || state != nil && state.Success() {
		return false, false
	}
	return true, state == nil || !state.Exited() || state.ExitCode() == lostConnection
}

// unborn is the signal that has ended the process before it had said anything; 0: none has.
func (n *node) unborn() int {
	if state := n.cmd.ProcessState; state != nil && !n.spoken {
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return int(status.Signal())
		}
	}
	return 0
}

func (n *node) markDead() {
	n.mu.Lock()
	n.dead = true
	n.mu.Unlock()
}

// receive hands on messages until there are no more, and returns why.
func receive(in io.Reader, message func(control.Message)) error {
	for {
		m, err := control.ReadMessage(in)
		if err != nil {
			return err
		}
		message(m)
	}
}

// lastSaid is how many lines of what a daemon has said are told at its end.
const lastSaid = 5

func (n *node) readDiagnostics(diagnostic func(string)) {
	in := bufio.NewReaderSize(n.errs, maxLine)
	for {
		line, _, err := in.ReadLine()
		if text := strings.TrimSpace(string(line)); text != "" {
			n.last = append(n.last[max(0, len(n.last)-lastSaid+1):], text)
			diagnostic(text)
		}
		if err != nil {
			return
		}
	}
}

// exitReason says how the process has ended.
func (n *node) exitReason() string {
	who, first := "its daemon", "does the program print before launch.Daemon or launch.Self?"
	if n.agent != nil {
		who = fmt.Sprintf("its launch agent (%s)", strings.Join(n.agent, " "))
		first = "does the agent, or a shell's profile on the host, print something first?"
	}
	text := fmt.Sprintf("%s has ended: %v", who, n.cmd.ProcessState)
	if n.broken != nil {
		text += fmt.Sprintf("; what it sent is not understood: %v (%s)", n.broken, first)
	}
	if len(n.last) > 0 {
		text += "; it said: " + strings.Join(n.last, "; ")
	}
	return text
}
