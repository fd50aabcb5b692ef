package flush

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
)

func idOf(version int) storage.ID { return storage.ID{Version: uint64(version)} }

// placement has two parts of each version, in memory.
type placement struct {
	size int

	mu      sync.Mutex
	fails   map[storage.ID]error
	home    map[storage.ID]int // parts that were committed
	flushed []storage.ID
	aborted int
}

func newPlacement(size int) *placement {
	return &placement{size: size, fails: make(map[storage.ID]error), home: make(map[storage.ID]int)}
}

func (p *placement) start(t *testing.T, ctx context.Context, limit int64) *Flusher {
	f := New(p, Options{Limit: limit, Around: func(body func()) { body() }, Log: slog.New(slog.DiscardHandler)})
	f.Start(ctx)
	t.Cleanup(f.Wait)
	return f
}

func (p *placement) Parts(storage.ID) []storage.Part {
	return []storage.Part{{Rank: 0, Size: 2}, {Rank: 1, Size: 2}}
}

func (p *placement) Open(context.Context, storage.ID, storage.Part) (storage.PartReader, error) {
	return memory{bytes.NewReader(make([]byte, p.size))}, nil
}

func (p *placement) Create(_ context.Context, id storage.ID, _ storage.Part) (storage.PartWriter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.fails[id]; err != nil {
		return nil, err
	}
	return &part{p: p, id: id}, nil
}

func (p *placement) Flushed(_ context.Context, id storage.ID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flushed = append(p.flushed, id)
	return nil
}

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

type part struct {
	p       *placement
	id      storage.ID
	written int
}

func (w *part) Write(b []byte) (int, error) {
	w.written += len(b)
	return len(b), nil
}

func (w *part) Commit() error {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	if w.written != w.p.size {
		return errors.New("it is not whole")
	}
	w.p.home[w.id]++
	return nil
}

func (w *part) Abort() error {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.aborted++
	return nil
}

// What somebody waits for goes before what has piled up, and knows no limit; what comes
// after it goes on at the limit.
func TestWhatIsWaitedForGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlacement(64 << 10)
		f := p.start(t, t.Context(), 16<<10) // 8 s for a version
		for v := 1; v <= 3; v++ {
			f.Add(idOf(v))
		}
		began := time.Now()
		require.NoError(t, f.Await(t.Context(), idOf(3)))
		require.Less(t, time.Since(began), time.Second)
		p.mu.Lock()
		require.Equal(t, 2, p.home[idOf(3)])
		require.Zero(t, p.home[idOf(2)])
		p.mu.Unlock()
		<-f.Add(idOf(2))
		require.Greater(t, time.Since(began), 7*time.Second)
	})
}

// It does not wait for the copy that is being made either: that is thrown away, and made again, unless it is canceled.
func TestWhatIsWaitedForOvertakes(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlacement(64 << 10)
			f := p.start(t, t.Context(), 4<<10)
			one := f.Add(idOf(1))
			time.Sleep(2 * time.Second)
			var waiting sync.WaitGroup
			waiting.Go(func() { require.NoError(t, f.Await(t.Context(), idOf(2))) })
			waiting.Wait()
			p.mu.Lock()
			require.Equal(t, []storage.ID{idOf(2)}, p.flushed)
			require.Equal(t, 1, p.aborted)
			p.mu.Unlock()
			want := []storage.ID{idOf(2)}
			if cancel {
				f.Cancel(idOf(1))
			} else {
				want = append(want, idOf(1))
			}
			<-one
			require.Equal(t, want, p.flushed)
		})
	}
}

// A version that is canceled while another one overtakes it is not copied again.
func TestCancelWhatIsOvertaken(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{})
	p := newPlacement(1)
	first := true
	f := New(p, Options{Around: func(body func()) {
		if first {
			first = false
			close(held)
			<-hold
		}
		body()
	}})
	f.Start(t.Context())
	t.Cleanup(f.Wait)
	f.Add(idOf(1))
	<-held
	awaited := make(chan error)
	go func() { awaited <- f.Await(t.Context(), idOf(2)) }()
	require.Eventually(t, func() bool { return f.hurries() }, time.Minute, time.Millisecond)
	f.Cancel(idOf(1))
	close(hold)
	require.NoError(t, <-awaited)
	<-f.Add(idOf(2))
	require.False(t, f.Pending(idOf(1)))
}

// A version that is canceled ends, is thrown away, and does not hold up the others; one
// that waits is not begun.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlacement(64 << 10)
		f := p.start(t, t.Context(), 4<<10)
		one, two := f.Add(idOf(1)), f.Add(idOf(2))
		f.Add(idOf(3))
		time.Sleep(2 * time.Second)
		f.Cancel(idOf(2)) // while the first one holds it up: it begins as soon as that has ended
		f.Cancel(idOf(1))
		<-one
		<-two
		require.ErrorIs(t, f.copies[idOf(1)].err, storage.ErrCalledOff)
		require.ErrorIs(t, f.copies[idOf(2)].err, storage.ErrCalledOff)
		require.NoError(t, f.Await(t.Context(), idOf(3)))
		require.Equal(t, map[storage.ID]int{idOf(3): 2}, p.home)
		require.Equal(t, 1, p.aborted)
		require.Equal(t, []storage.ID{idOf(3)}, p.flushed)
	})
}

// What has failed is copied when it is asked for again; what is done is not copied again.
func TestOnceMore(t *testing.T) {
	p := newPlacement(1)
	f := p.start(t, t.Context(), 0)
	full := errors.New("no room")
	p.fails[idOf(1)] = full
	require.ErrorIs(t, f.Await(t.Context(), idOf(1)), full)
	p.mu.Lock()
	delete(p.fails, idOf(1))
	p.mu.Unlock()
	require.NoError(t, f.Await(t.Context(), idOf(1)))
	require.NoError(t, f.Await(t.Context(), idOf(1)))
	require.Equal(t, 2, p.home[idOf(1)])
	f.Forget(idOf(1))
	require.Empty(t, f.copies)
}

// Who waits does so no longer than the context says, and the haste ends with that.
func TestAwaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlacement(1)
		f := New(p, Options{Around: func(body func()) { body() }}) // which is not started
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, f.Await(ctx, idOf(1)), context.DeadlineExceeded)
		require.False(t, f.hurries())
		require.True(t, f.Pending(idOf(1)))
	})
}

// A version is canceled while all are given up: it ends once.
func TestCancelWhileAllAreGivenUp(t *testing.T) {
	for range 20 {
		f := New(nil, Options{})
		const n = 1000
		first := f.Add(idOf(1))
		for v := 2; v <= n; v++ {
			f.Add(idOf(v))
		}
		var givenUp sync.WaitGroup
		givenUp.Go(func() { f.giveUp(context.Canceled) })
		<-first
		f.Cancel(idOf(n))
		givenUp.Wait()
		require.ErrorIs(t, f.copies[idOf(n)].err, context.Canceled)
	}
}

// What is at home needs no time.
func TestWhatIsDoneIsNotWaitedFor(t *testing.T) {
	f := newPlacement(pieceLeast).start(t, t.Context(), 0)
	require.NoError(t, f.Await(t.Context(), idOf(1)))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		require.NoError(t, f.Await(over, idOf(1)))
	}
}

// Versions are added, waited for, canceled and added again by several at once, and some
// cannot be stored: every wait ends, and what ends well is at home.
func TestManyAtOnce(t *testing.T) {
	rng := testseed.Rand(t)
	for range 30 {
		p := newPlacement(3 * pieceLeast)
		f := p.start(t, t.Context(), 0)
		full := errors.New("no room")
		for v := range 20 {
			if rng.IntN(5) == 0 {
				p.fails[idOf(v)] = full
			}
		}
		var all sync.WaitGroup
		for range 40 {
			id, what := idOf(rng.IntN(20)), rng.IntN(4)
			all.Go(func() {
				switch what {
				case 0:
					f.Cancel(id)
				case 1:
					<-f.Add(id)
				default:
					err := f.Await(t.Context(), id)
					p.mu.Lock()
					defer p.mu.Unlock()
					if err == nil && p.home[id] < 2 {
						t.Errorf("version %d is not at home", id.Version)
					}
					if err != nil && !errors.Is(err, full) && !errors.Is(err, storage.ErrCalledOff) {
						t.Errorf("version %d: %v", id.Version, err)
					}
				}
			})
		}
		all.Wait()
		require.False(t, f.hurries())
	}
}

// hurries reports whether somebody is taken to wait for a version.
func (f *Flusher) hurries() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.copies {
		if one.urgent {
			return true
		}
	}
	select {
	case <-f.hurry:
		return true
	default:
		return false
	}
}
