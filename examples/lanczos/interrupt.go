package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
)

// interrupt remembers the first signal that asks the program to end. While it
// is not armed, and after that first signal, signals have their usual effect:
// there is nothing to save yet, or the user does not want to wait for it. Not so
// after the first signal to a rank that is a process: it may get the same one from
// the batch system and from the launcher, which sees to impatient users.
type interrupt struct {
	signals  chan os.Signal
	first    atomic.Int64
	watching sync.WaitGroup
	armOnce  sync.Once
}

func newInterrupt() *interrupt {
	i := &interrupt{signals: make(chan os.Signal, 1)}
	i.watching.Go(func() {
		if s, ok := <-i.signals; ok {
			// What reads the output (tee) may have ended by the same signal.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			i.first.Store(int64(s.(syscall.Signal)))
			i.disarm()
		}
	})
	return i
}

// arm is called by all ranks; the first call counts.
func (i *interrupt) arm() {
	i.armOnce.Do(func() { signal.Notify(i.signals, syscall.SIGINT, syscall.SIGTERM) })
}

// disarm gives signals their usual effect again. Not so if each rank is a
// process: it would be replaced, and the job go on.
func (i *interrupt) disarm() {
	if !launch.IsRank() {
		signal.Stop(i.signals)
	}
}

// close ends the goroutine that listens.
func (i *interrupt) close() {
	signal.Stop(i.signals)
	close(i.signals)
	i.watching.Wait()
}

func (i *interrupt) requested() bool { return i.first.Load() != 0 }

// agree is how the program ends after iteration iter. It is collective: not all
// ranks need to have got the signal.
func (i *interrupt) agree(ctx context.Context, c *comm.Comm, iter int, fresh bool) (*interruptedError, error) {
	first, err := comm.AllreduceOne(ctx, c, i.first.Load(), comm.Max)
	if err != nil {
		return nil, err
	}
	return &interruptedError{signal: syscall.Signal(first), iter: iter, fresh: fresh}, nil
}

// interruptedError says how the program has ended.
type interruptedError struct {
	signal syscall.Signal
	iter   int
	saved  bool
	fresh  bool  // the command has -fresh
	err    error // why it was not saved, if that was tried
	// onNodes is why what was saved is on the nodes alone.
	onNodes error
}

func (e *interruptedError) Error() string {
	what := fmt.Sprintf("lanczos: ended by signal %d (%v) after iteration %d", int(e.signal), e.signal, e.iter)
	again := "the same command"
	if e.fresh {
		again += " without -fresh"
	}
	switch {
	case e.err != nil:
		return fmt.Sprintf("%s; the checkpoint failed: %v\nAn earlier one, if there is any, is as it was: %s goes on from it.", what, e.err, again)
	case !e.saved:
		return what + "; checkpoints are off, nothing is saved"
	case e.onNodes != nil:
		return fmt.Sprintf("%s, which is saved on the nodes, but not on the parallel file system: %v\nOn the same nodes %s goes on from there.", what, e.onNodes, again)
	}
	return fmt.Sprintf("%s, which is saved and safe; %s goes on from there.", what, again)
}
