package placement

import (
	"context"
	"sync"
	"time"

	"github.com/craft-go/craft/storage"
)

// idleness tells when no other rank has wanted anything of this one for a while. It is the
// handler's, which all goes through: what others read and store here, what they have done and
// look for.
type idleness struct {
	mu    sync.Mutex
	busy  int         // how much is being done for others
	timer *time.Timer // nil: nobody wants to know
	quiet time.Duration
}

// begin notes that something is wanted, end that it is done.
func (i *idleness) begin() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.busy++
	if i.timer != nil {
		i.timer.Stop()
	}
}

func (i *idleness) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.busy--
	if i.timer != nil && i.busy == 0 {
		i.timer.Reset(i.quiet)
	}
}

// when: see Placement.WhenIdle.
func (i *idleness) when(quiet time.Duration, f func()) (stop func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	t := time.AfterFunc(quiet, f)
	if i.busy > 0 {
		t.Stop()
	}
	i.timer, i.quiet = t, quiet
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.timer = nil
		t.Stop()
	}
}

// until notes something that is wanted until ctx ends.
func (i *idleness) until(ctx context.Context) {
	i.begin()
	context.AfterFunc(ctx, i.end)
}

// lent is a part that another rank reads.
type lent struct {
	storage.PartReader

	idle *idleness
}

func (l *lent) Close() error {
	defer l.idle.end()
	return l.PartReader.Close()
}

// WhenIdle calls f, in a goroutine of its own, as soon as no other rank has wanted anything
// here for a while, from now on: who has nothing more to do for itself may leave then, although
// others have not closed theirs. They may be waiting in a collective call for this rank, whose
// program has left it with an error of its own. stop takes that back.
func (p *Placement) WhenIdle(quiet time.Duration, f func()) (stop func()) {
	return p.idle.when(quiet, f)
}
