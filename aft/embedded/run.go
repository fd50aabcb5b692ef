package embedded

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/craft-go/craft/aft/comm"
)

// Run runs a job of n ranks as goroutines of this process, each with its own
// communicator, and returns when all of them have ended.
//
// When a body returns an error, the contexts of the others end with a *RankError
// as the cause, and Run returns it: the first one, if there are several. When a
// body panics, Run panics with a *PanicError after all have ended; when one calls
// runtime.Goexit (as testing.T's FailNow does), so does Run.
func Run(ctx context.Context, n int, body func(ctx context.Context, c comm.Comm) error) error {
	if n < 1 {
		return fmt.Errorf("%w, not %d", ErrSize, n)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j := &job{cancel: cancel, world: newWorld(n)}
	var ranks sync.WaitGroup
	for r := range n {
		c := &communicator{world: j.world, rank: comm.Rank(r)}
		ranks.Go(func() { j.run(ctx, c, body) })
	}
	ranks.Wait()
	if j.panicked != nil {
		panic(j.panicked)
	}
	if j.exited {
		runtime.Goexit()
	}
	if j.first != nil {
		return j.first
	}
	return nil
}

// job is what the ranks leave behind.
type job struct {
	cancel context.CancelCauseFunc
	world  *world

	mu       sync.Mutex
	first    *RankError
	panicked *PanicError
	exited   bool
}

// run is one rank. Its end is told to the contexts first, so that the cause is
// its error and not one that follows from its absence.
func (j *job) run(ctx context.Context, c *communicator, body func(context.Context, comm.Comm) error) {
	defer j.world.leave(c)
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		if value == nil { // panic(nil) is not nil since Go 1.21
			j.mu.Lock()
			j.exited = true
			j.mu.Unlock()
			j.fail(c.rank, errExit)
			return
		}
		p := &PanicError{Rank: c.rank, Value: value, Stack: debug.Stack()}
		j.mu.Lock()
		if j.panicked == nil {
			j.panicked = p
		}
		j.mu.Unlock()
		j.fail(c.rank, p)
	}()
	err := body(ctx, c)
	returned = true
	if err != nil {
		j.fail(c.rank, err)
	}
}

func (j *job) fail(rank comm.Rank, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.first == nil {
		j.first = &RankError{Rank: rank, Err: err}
		j.cancel(j.first)
	}
}
