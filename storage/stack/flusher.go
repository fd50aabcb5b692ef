package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/craft-go/craft/storage"
)

// flushPiece is how many bytes are copied at once; less if the limit is less than
// that in a second, but not too few.
const (
	flushPiece      = 1 << 20
	flushPieceLeast = 4 << 10
)

// flusher copies versions to the home, one after the other, in the background.
type flusher struct {
	s       *Stack
	limit   *rate.Limiter // nil: none
	piece   int64
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	queue  []storage.ID            // the one that is being copied too
	off    context.CancelCauseFunc // calls off the one that is being copied, now; nil: none is
	now    storage.ID
	wake   chan struct{}       // has room for one
	urgent map[storage.ID]bool // somebody waits for these
	hurry  chan struct{}       // closed while there are any
	ended  map[storage.ID]chan struct{}
	errs   map[storage.ID]error
}

func (f *flusher) start(s *Stack) {
	f.s, f.wake, f.hurry = s, make(chan struct{}, 1), make(chan struct{})
	f.ended, f.errs = make(map[storage.ID]chan struct{}), make(map[storage.ID]error)
	f.urgent = make(map[storage.ID]bool)
	f.piece = flushPiece
	if s.FlushLimit > 0 {
		f.piece = max(min(flushPiece, s.FlushLimit), flushPieceLeast)
		f.limit = rate.NewLimiter(rate.Limit(s.FlushLimit), int(f.piece))
	}
	ctx, cancel := context.WithCancel(s.work)
	f.cancel = cancel
	f.running.Go(func() { f.run(ctx) })
}

func (f *flusher) stop() {
	f.cancel()
	f.running.Wait()
}

// add puts a version into the queue and returns what is closed when this rank's
// parts are at home, or cannot be.
func (f *flusher) add(id storage.ID) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if done, ok := f.ended[id]; ok && f.errs[id] == nil {
		return done
	}
	delete(f.errs, id) // once more
	f.ended[id] = make(chan struct{})
	f.queue = append(f.queue, id)
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return f.ended[id]
}

// first puts a version before all others, because the program waits for it: a job
// that is about to end may not have the time for what has piled up. Until it is
// done there is no limit, which is for what goes on beside the program.
func (f *flusher) first(id storage.ID) (ended <-chan struct{}) {
	ended = f.add(id)
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.queue, id)
	if i < 0 {
		return ended // it is done
	}
	copy(f.queue[1:i+1], f.queue[:i])
	f.queue[0] = id
	if len(f.urgent) == 0 {
		close(f.hurry)
	}
	f.urgent[id] = true
	return ended
}

// calm takes back the haste about a version. The lock is held.
func (f *flusher) calm(id storage.ID) {
	if f.urgent[id] && len(f.urgent) == 1 {
		f.hurry = make(chan struct{})
	}
	delete(f.urgent, id)
}

// pace waits until that many bytes may be copied.
func (f *flusher) pace(ctx context.Context, bytes int) error {
	if f.limit == nil {
		return nil
	}
	f.mu.Lock()
	hurry := f.hurry
	f.mu.Unlock()
	turn := f.limit.ReserveN(time.Now(), bytes)
	timer := time.NewTimer(turn.Delay())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-hurry:
		turn.Cancel()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *flusher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			f.giveUp(context.Cause(ctx))
			return
		case <-f.wake:
		}
		for {
			f.mu.Lock()
			if len(f.queue) == 0 || ctx.Err() != nil {
				f.mu.Unlock()
				break
			}
			id := f.queue[0]
			one, off := context.WithCancelCause(ctx)
			f.now, f.off = id, off
			f.mu.Unlock()
			var err error
			f.s.service.Around(func() { err = f.s.flushOwn(one, id) })
			f.end(id, err)
			off(nil)
		}
	}
}

// errCalledOff ends the flush of a version that is deleted.
var errCalledOff = errors.New("the version is not kept any more")

// callOff takes a version out of the queue. The copy that is being made ends before
// its next piece, and is thrown away; who calls off does not wait for that: the
// file system may not answer.
func (f *flusher) callOff(id storage.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.off != nil && f.now == id:
		f.off(errCalledOff)
	case slices.Contains(f.queue, id):
		f.endLocked(id, errCalledOff)
	}
}

func (f *flusher) end(id storage.ID, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now, f.off = storage.ID{}, nil
	f.endLocked(id, err)
}

func (f *flusher) endLocked(id storage.ID, err error) {
	f.queue = slices.DeleteFunc(f.queue, func(other storage.ID) bool { return other == id })
	f.calm(id)
	f.errs[id] = err
	close(f.ended[id])
}

func (f *flusher) giveUp(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) > 0 {
		f.endLocked(f.queue[0], why)
	}
}

func (f *flusher) await(ctx context.Context, id storage.ID) error {
	select {
	case <-f.first(id):
		return f.errorOf(id)
	case <-ctx.Done():
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calm(id)
		return context.Cause(ctx)
	}
}

// forget drops what is known of a version that is not in the queue.
func (f *flusher) forget(id storage.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.queue, id) {
		delete(f.ended, id)
		delete(f.errs, id)
	}
}

// pending tells whether a version is still in the queue.
func (f *flusher) pending(id storage.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.queue, id)
}

func (f *flusher) errorOf(id storage.ID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.errs[id]
}

func (f *flusher) copy(ctx context.Context, w storage.PartWriter, r storage.PartReader) error {
	buf := make([]byte, min(f.piece, max(r.Size(), 1)))
	for off := int64(0); off < r.Size(); {
		p := buf[:min(int64(len(buf)), r.Size()-off)]
		if err := f.pace(ctx, len(p)); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if n, err := r.ReadAt(p, off); n < len(p) {
			return fmt.Errorf("read %d of %d bytes at %d: %w", n, len(p), off, err)
		}
		if _, err := w.Write(p); err != nil {
			return err
		}
		off += int64(len(p))
	}
	return nil
}
