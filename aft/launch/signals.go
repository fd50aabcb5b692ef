package launch

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/guard"
	"github.com/craft-go/craft/internal/demand"
)

// held has the signals that have come since HoldSignals; nil: they do what they do.
var held chan os.Signal

const heldAtMost = 16

// HoldSignals has signals that are for a job wait until Run looks at them, in a program that does nothing else: first in
// main. They would end this process in place of the job; a program that does not call Run takes no notice of them.
func HoldSignals() {
	held = make(chan os.Signal, heldAtMost)
	for _, s := range guard.ForRanks {
		if !signal.Ignored(s) {
			signal.Notify(held, s)
		}
	}
}

// brokenPipes gets SIGPIPE, and nobody looks: what the pipe was tells the error of the write,
// and the end of a daemon on the other side of one is something else than that of a reader.
var brokenPipes = make(chan os.Signal, 1)

// catchSignals hands the signals of this process to handle until stop is called.
// What is ignored (nohup) stays ignored. A terminal that stops who writes to it from
// the background (stty tostop) does not stop this process: its job would be lost.
// A second SIGQUIT does what it does in any Go program: this process may hang too.
// SIGPIPE does not end this process, and its job while that saves: who writes to a pipe
// without a reader gets an error. That stays so after stop, for whoever tells of the job's
// end may write there too, and is to exit with the job's code.
func catchSignals(handle func(syscall.Signal)) (stop func()) {
	if !signal.Ignored(syscall.SIGTTOU) {
		signal.Ignore(syscall.SIGTTOU)
		defer func() {
			rest := stop
			stop = func() { rest(); signal.Reset(syscall.SIGTTOU) }
		}()
	}
	signal.Notify(brokenPipes, syscall.SIGPIPE)
	caught := held
	if held = nil; caught == nil {
		caught = make(chan os.Signal, heldAtMost)
	}
	for _, s := range append(guard.ForRanks, syscall.SIGTSTP) {
		if !signal.Ignored(s) {
			signal.Notify(caught, s)
		}
	}
	quit := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGQUIT) {
		signal.Notify(quit, syscall.SIGQUIT)
	}
	over := make(chan struct{})
	var handling sync.WaitGroup
	handling.Go(func() {
		for {
			select {
			case s := <-caught:
				handle(s.(syscall.Signal))
			case <-quit:
				signal.Stop(quit)
				handle(syscall.SIGQUIT)
			case <-over:
				return
			}
		}
	})
	return func() {
		signal.Stop(caught)
		signal.Stop(quit)
		close(over)
		handling.Wait()
	}
}

// together is for how long signals that ask for the end count as one: what passes a signal on to
// its child and to the child's group (timeout), and then is in the way of one to all processes of a
// job, makes three of it. Nobody presses keys so fast.
const together = time.Second

// impatience counts how often somebody has asked for the end of a job.
type impatience struct {
	times int
	last  time.Time
}

// interrupts is the number of times of somebody who does not want to wait for a version.
const interrupts = -1

// asks counts a SIGINT or SIGTERM. If the program takes it for a request the same again is the same
// request, but for the second one of somebody at a terminal.
func (r *root) asks(s syscall.Signal) (times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.end == nil && r.machine.Takes(int(s)) == demand.TakesEnd
	if taken && s == syscall.SIGTERM {
		return 0
	}
	times = r.kills.again(time.Now())
	if taken && times > 1 {
		r.kills.times = 3
		return interrupts
	}
	return times
}

// takes is what the program does with a signal, as far as is known.
func (r *root) takes(s syscall.Signal) demand.Takes {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.machine.Takes(int(s))
}

// endsBy reports whether a signal asks for the end.
func (r *root) endsBy(s syscall.Signal) bool {
	takes := r.takes(s)
	return takes == demand.TakesEnd || takes == demand.TakesNothing && control.Stops(int(s))
}

// again counts one, and returns how many there are with it; 0: it belongs to the last one.
func (i *impatience) again(now time.Time) int {
	if i.times > 0 && now.Sub(i.last) < together {
		return 0
	}
	i.times++
	i.last = now
	return i.times
}
