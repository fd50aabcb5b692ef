package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
)

// interrupt remembers the first signal that asks the program to end. While it
// is not armed, and after that first signal, signals have their usual effect:
// there is nothing to save yet, or the user does not want to wait for it.
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
			i.first.Store(int64(s.(syscall.Signal)))
			signal.Stop(i.signals)
		}
	})
	return i
}

// arm and disarm are called by all ranks; the first call of each counts.
func (i *interrupt) arm() {
	i.armOnce.Do(func() { signal.Notify(i.signals, syscall.SIGINT, syscall.SIGTERM) })
}

func (i *interrupt) disarm() { signal.Stop(i.signals) }

// close ends the goroutine that listens.
func (i *interrupt) close() {
	signal.Stop(i.signals)
	close(i.signals)
	i.watching.Wait()
}

func (i *interrupt) requested() bool { return i.first.Load() != 0 }

// stopped is how the program ends after iteration iter; err is why it was not
// saved, if it was tried.
func (i *interrupt) stopped(iter int, saved, fresh bool, err error) error {
	return &interruptedError{signal: syscall.Signal(i.first.Load()), iter: iter, saved: saved, fresh: fresh, err: err}
}

type interruptedError struct {
	signal syscall.Signal
	iter   int
	saved  bool
	fresh  bool // the command has -fresh
	err    error
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
	}
	return fmt.Sprintf("%s, which is saved and safe; %s goes on from there.", what, again)
}
