package flush

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/craft-go/craft/storage"
)

// piece is how many bytes are copied at once; less if the limit is less than that in a
// second, but not too few.
const (
	piece      = 1 << 20
	pieceLeast = 4 << 10
)

// Placement is what a Flusher asks of whoever knows where things are.
type Placement interface {
	// Parts lists the parts of a version that this rank is to copy.
	Parts(id storage.ID) []storage.Part
	// Open opens a part whose bytes are all right.
	Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error)
	// Create starts a part at home. Its Commit says as well whether it may be published.
	Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error)
	// Flushed is told that the home has all parts that this rank was to copy.
	Flushed(ctx context.Context, id storage.ID) error
}

// Options of a Flusher.
type Options struct {
	// Limit bounds the bytes per second; 0: no bound.
	Limit int64
	// Around runs the body of what is done in the background.
	Around func(body func())
	Log    *slog.Logger
}

// Flusher copies versions to the home, one after the other, in the background. Its
// methods may be called concurrently.
type Flusher struct {
	Options

	placement Placement
	limiter   *rate.Limiter // nil: no limit
	piece     int64
	running   sync.WaitGroup

	mu     sync.Mutex
	copies map[storage.ID]*attempt // the last one of each version
	queue  []*attempt              // the one that is being copied too
	wake   chan struct{}           // has room for one
	hurry  chan struct{}           // closed while one of the queue is urgent
}

// attempt is one to copy a version.
type attempt struct {
	id     storage.ID
	urgent bool                    // somebody waits for it
	off    context.CancelCauseFunc // calls it off while it is being copied; nil: it is not
	gone   bool                    // it was canceled while it was
	ended  chan struct{}
	err    error // when it has ended
}

// New returns a Flusher; Start starts it.
func New(p Placement, o Options) *Flusher {
	f := &Flusher{
		Options: o, placement: p, piece: piece, wake: make(chan struct{}, 1), hurry: make(chan struct{}),
		copies: make(map[storage.ID]*attempt),
	}
	if o.Limit > 0 {
		f.piece = max(min(piece, o.Limit), pieceLeast)
		f.limiter = rate.NewLimiter(rate.Limit(o.Limit), int(f.piece))
	}
	return f
}

// Start begins to copy what is added, until ctx ends.
func (f *Flusher) Start(ctx context.Context) {
	f.running.Go(func() { f.run(ctx) })
}

// Wait waits, when that has ended, for the piece that is being copied.
func (f *Flusher) Wait() { f.running.Wait() }

// Add puts a version into the queue, unless it is there or done, and returns what is closed
// when this rank's parts are at home, or cannot be.
func (f *Flusher) Add(id storage.ID) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.add(id).ended
}

func (f *Flusher) add(id storage.ID) *attempt {
	if last := f.copies[id]; last != nil && last.err == nil {
		return last
	}
	one := &attempt{id: id, ended: make(chan struct{})}
	f.copies[id] = one
	f.queue = append(f.queue, one)
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return one
}

// errOvertaken calls off a copy that is to be made again later.
var errOvertaken = errors.New("another version is waited for")

// Await copies a version before all others, because the program waits for it: a job that is
// about to end may not have the time for what has piled up, nor for the copy that is being made, which begins
// again afterwards. Until it is done there is no
// limit, which is for what goes on beside the program. Await waits until this rank's parts
// are at home, or cannot be.
func (f *Flusher) Await(ctx context.Context, id storage.ID) error {
	f.mu.Lock()
	one := f.add(id)
	if i := slices.Index(f.queue, one); i >= 0 { // else it is done
		if first := f.queue[0]; i > 0 && first.off != nil && !first.urgent {
			first.off(errOvertaken)
		}
		copy(f.queue[1:i+1], f.queue[:i])
		f.queue[0] = one
		f.haste(one, true)
	}
	f.mu.Unlock()
	select {
	case <-one.ended:
		return one.err
	case <-ctx.Done():
		f.mu.Lock()
		defer f.mu.Unlock()
		select {
		case <-one.ended: // for which no time is needed
			return one.err
		default:
		}
		f.haste(one, false)
		return context.Cause(ctx)
	}
}

// haste says whether somebody waits for a version that is in the queue. The lock is held.
func (f *Flusher) haste(one *attempt, urgent bool) {
	isUrgent := func(a *attempt) bool { return a.urgent }
	before := slices.ContainsFunc(f.queue, isUrgent)
	one.urgent = urgent
	switch now := slices.ContainsFunc(f.queue, isUrgent); {
	case now && !before:
		close(f.hurry)
	case before && !now:
		f.hurry = make(chan struct{})
	}
}

// pace waits until that many bytes may be copied.
func (f *Flusher) pace(ctx context.Context, bytes int) error {
	if f.limiter != nil {
		f.mu.Lock()
		hurry := f.hurry
		f.mu.Unlock()
		turn := f.limiter.ReserveN(time.Now(), bytes)
		timer := time.NewTimer(turn.Delay())
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-hurry:
			turn.Cancel()
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

func (f *Flusher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			f.giveUp(context.Cause(ctx))
			return
		case <-f.wake:
		}
		for ctx.Err() == nil && f.flushFirst(ctx) {
		}
	}
}

// flushFirst copies what is first in the queue, if anything is.
func (f *Flusher) flushFirst(ctx context.Context) bool {
	f.mu.Lock()
	if len(f.queue) == 0 {
		f.mu.Unlock()
		return false
	}
	one := f.queue[0]
	ctx, one.off = context.WithCancelCause(ctx)
	defer one.off(nil)
	f.mu.Unlock()
	var err error
	f.Around(func() { err = f.flush(ctx, one.id) })
	f.mu.Lock()
	defer f.mu.Unlock()
	one.off = nil
	switch {
	case err != nil && one.gone:
		err = storage.ErrCalledOff
	case err != nil && errors.Is(context.Cause(ctx), errOvertaken):
		return true
	}
	f.end(one, err)
	return true
}

// Cancel takes a version out of the queue. The copy that is being made ends before
// its next piece, and is thrown away; who cancels does not wait for that: the
// file system may not answer.
func (f *Flusher) Cancel(id storage.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch one := f.copies[id]; {
	case !slices.Contains(f.queue, one):
	case one.off != nil:
		one.gone = true
		one.off(storage.ErrCalledOff)
	default:
		f.end(one, storage.ErrCalledOff)
	}
}

// end takes what is done, or cannot be, out of the queue. The lock is held.
func (f *Flusher) end(one *attempt, err error) {
	f.haste(one, false)
	f.queue = slices.DeleteFunc(f.queue, func(other *attempt) bool { return other == one })
	one.err = err
	close(one.ended)
}

func (f *Flusher) giveUp(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) > 0 {
		f.end(f.queue[0], why)
	}
}

// Forget drops what is known of a version that is not in the queue.
func (f *Flusher) Forget(id storage.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.queue, f.copies[id]) {
		delete(f.copies, id)
	}
}

// Pending reports whether a version is still in the queue.
func (f *Flusher) Pending(id storage.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.queue, f.copies[id])
}

// flush copies the parts of this rank.
func (f *Flusher) flush(ctx context.Context, id storage.ID) error {
	for _, part := range f.placement.Parts(id) {
		if err := f.flushPart(ctx, id, part); err != nil {
			if ctx.Err() == nil {
				f.Log.Warn("a version is not on the parallel file system yet", "version", id.Version, "part", part.String(), "error", err)
			}
			return err
		}
	}
	if err := f.placement.Flushed(ctx, id); err != nil && ctx.Err() == nil {
		f.Log.Warn("nobody knows yet that a version is on the parallel file system", "version", id.Version, "error", err)
	}
	return nil
}

func (f *Flusher) flushPart(ctx context.Context, id storage.ID, part storage.Part) error {
	src, err := f.placement.Open(ctx, id, part)
	if err != nil {
		return err
	}
	defer src.Close()
	w, err := f.placement.Create(ctx, id, part)
	if err != nil {
		return err
	}
	if err := f.copy(ctx, w, src); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit()
}

func (f *Flusher) copy(ctx context.Context, w storage.PartWriter, r storage.PartReader) error {
	buf := make([]byte, min(f.piece, max(r.Size(), 1)))
	for off := int64(0); off < r.Size(); {
		p := buf[:min(int64(len(buf)), r.Size()-off)]
		if err := f.pace(ctx, len(p)); err != nil {
			return err
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
