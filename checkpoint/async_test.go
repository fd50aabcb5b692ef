package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/embedded"
	"github.com/craft-go/craft/async"
	"github.com/craft-go/craft/internal/vfs"
)

// gate lets the operations of a file system through, or holds the next one that
// changes something until it is opened.
type gate struct {
	vfs.FS
	shut    atomic.Bool
	held    chan struct{} // an operation is being held
	release chan struct{}
}

func newGate(below vfs.FS) *gate {
	g := &gate{held: make(chan struct{}, 1), release: make(chan struct{})}
	g.FS = vfs.WithErrors(below, func(op vfs.Op) error {
		if op.Kind.Mutates() && strings.HasSuffix(op.Path, ".craft.tmp") && g.shut.CompareAndSwap(true, false) {
			g.held <- struct{}{}
			<-g.release
		}
		return nil
	})
	return g
}

// hold makes the next operation on a part wait.
func (g *gate) hold() { g.shut.Store(true) }

func (g *gate) open() { g.release <- struct{}{} }

func TestAllModesStoreTheSame(t *testing.T) {
	wantV, wantSums := reference(12)
	for _, mode := range modes {
		for _, ranks := range []int{1, 3} {
			for _, staging := range []int64{0, 16 << 10} { // whole, and less than a third of the values
				dir := t.TempDir()
				options := []Option{WithPath(dir), inMode(mode), WithStaging(staging), WithAsyncCheck(true)}
				for _, until := range []int{5, 9, 12} {
					err := embedded.Run(t.Context(), ranks, func(ctx context.Context, c comm.Comm) error {
						p := newProgram(t, c, true, options...)
						defer p.cp.Close()
						if err := p.run(ctx, until, 1); err != nil {
							return err
						}
						if until == 12 {
							require.Equal(t, wantV[p.lo:p.hi], p.v)
							require.Equal(t, wantSums, p.sums)
						}
						require.Equal(t, until, int(p.cp.attempt.last))
						return p.cp.Close()
					})
					require.NoError(t, err, "%s, %d ranks", mode, ranks)
				}
			}
		}
	}
}

// The values may change as soon as the call has returned: what is stored is
// what they were.
func TestCopyIsPrivate(t *testing.T) {
	disk := newGate(vfs.NewMem())
	p := newProgram(t, nil, true, WithPath("/cp"), withFS(disk), inMode("copy"), WithAsyncCheck(true))
	require.NoError(t, p.run(t.Context(), 3, 1))
	disk.hold()
	require.NoError(t, p.advance(t.Context(), 1))
	p.iter++
	<-disk.held
	progress := p.cp.Progress()
	require.True(t, progress.Writing)
	require.EqualValues(t, 3, progress.Iteration)
	require.EqualValues(t, 4, progress.Version)
	require.EqualValues(t, 8*(p.n+4+1), progress.Expected)
	want, _ := reference(4)
	for i := range p.v {
		p.v[i] = -1
	}
	disk.open()
	require.NoError(t, p.cp.Wait(t.Context()))
	require.Equal(t, Progress{}, p.cp.Progress())
	require.NoError(t, p.cp.Close())

	q := newProgram(t, nil, true, WithPath("/cp"), withFS(disk))
	require.NoError(t, q.cp.RestartIfNeeded(t.Context(), &q.iter))
	require.Equal(t, 4, q.iter)
	require.Equal(t, want, q.v)
	require.NoError(t, q.cp.Close())
}

// Without Wait a change is found by the check, which names the value, and the
// torn version is not stored.
func TestZeroCopyChangeIsFound(t *testing.T) {
	if raceEnabled {
		t.Skip("what it does wrong is a race")
	}
	for _, ranks := range []int{1, 2} {
		mem := vfs.NewMem()
		disk := newGate(mem)
		err := embedded.Run(t.Context(), ranks, func(ctx context.Context, c comm.Comm) error {
			fsys := vfs.FS(mem)
			if int(c.Rank()) == ranks-1 {
				fsys = disk // of this rank alone: it is its own write that must wait
			}
			p := newProgram(t, c, true, WithPath("/cp"), withFS(fsys), inMode("zero-copy"), WithAsyncCheck(true))
			defer p.cp.Close()
			if err := p.run(ctx, 3, 1); err != nil {
				return err
			}
			if int(c.Rank()) == ranks-1 {
				disk.hold()
			}
			if err := p.advance(ctx, 1); err != nil {
				return err
			}
			p.iter++
			if int(c.Rank()) == ranks-1 {
				<-disk.held
				p.v[17]++ // too early
				disk.open()
			}
			err := p.cp.Wait(ctx)
			var failed *AsyncError
			if !errors.Is(err, ErrChanged) || !errors.As(err, &failed) || failed.Version != 4 || !strings.Contains(err.Error(), `key "v"`) {
				return fmt.Errorf("a change was not found: %w", err)
			}
			return p.run(ctx, 6, 1) // the next ones are stored again
		})
		require.NoError(t, err)
	}
}

// What fails in the background comes out of the next call that waits, on all
// ranks, and that call stores its own version all the same.
func TestBackgroundErrorsSurface(t *testing.T) {
	surfaces := map[string]func(ctx context.Context, p *program) error{
		"UpdateAndWrite": func(ctx context.Context, p *program) error { return p.cp.UpdateAndWrite(ctx, p.iter, 1) },
		"Write":          func(ctx context.Context, p *program) error { return p.cp.Write(ctx) },
		"Wait":           func(ctx context.Context, p *program) error { return p.cp.Wait(ctx) },
	}
	for _, mode := range modes[1:] {
		for name, call := range surfaces {
			for _, ranks := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s, %s, %d ranks", mode, name, ranks), func(t *testing.T) {
					disk := vfs.NewMem()
					err := embedded.Run(t.Context(), ranks, func(ctx context.Context, c comm.Comm) error {
						var armed atomic.Bool
						captured := make(chan struct{}) // a failure before is known at once
						fsys := vfs.WithErrors(disk, func(op vfs.Op) error {
							if armed.Load() && op.Kind == vfs.OpWrite && strings.Contains(op.Path, ".craft") {
								<-captured
								return syscall.ENOSPC
							}
							return nil
						})
						p := newProgram(t, c, true, WithPath("/cp"), withFS(fsys), inMode(mode))
						defer p.cp.Close()
						if err := p.run(ctx, 3, 1); err != nil {
							return err
						}
						armed.Store(c.Rank() == 0)
						if err := p.advance(ctx, 1); err != nil {
							return err
						}
						close(captured)
						if c.Rank() == 0 {
							<-p.cp.flight.Load().ticket.Done()
						}
						armed.Store(false)
						p.iter++
						if err := p.cp.UpdateAndWrite(ctx, p.iter, 100); err != nil { // not due
							return err
						}
						err := call(ctx, p)
						var failed *AsyncError
						if !errors.As(err, &failed) || failed.Version != 4 || failed.Iteration != 3 {
							return fmt.Errorf("the failure of version 4 did not come out: %w", err)
						}
						if c.Rank() == 0 && !errors.Is(err, syscall.ENOSPC) {
							return fmt.Errorf("the cause is hidden: %w", err)
						}
						if err := p.cp.Wait(ctx); err != nil {
							return fmt.Errorf("it comes out once: %w", err)
						}
						want := map[string]int{"UpdateAndWrite": 4, "Write": 4, "Wait": 3}[name]
						if s := p.cp.Stats(); s.VersionsWritten != want || s.VersionsFailed != 1 {
							return fmt.Errorf("accounts: %+v", s)
						}
						return nil
					})
					require.NoError(t, err)
				})
			}
		}
	}
}

// Close waits for the last version, also on several ranks, and returns what
// went wrong with it.
func TestCloseDrains(t *testing.T) {
	for _, mode := range modes[1:] {
		for _, ranks := range []int{1, 3} {
			disk := vfs.NewMem()
			err := embedded.Run(t.Context(), ranks, func(ctx context.Context, c comm.Comm) error {
				p := newProgram(t, c, true, WithPath("/cp"), withFS(disk), inMode(mode))
				if err := p.run(ctx, 3, 1); err != nil {
					return err
				}
				if err := p.advance(ctx, 1); err != nil {
					return err
				}
				return p.cp.Close()
			})
			require.NoError(t, err)
			require.Equal(t, 4, restartAndFinish(t, disk, ranks, 6, mode))
		}
	}
	var armed atomic.Bool
	fsys := vfs.WithErrors(vfs.NewMem(), func(op vfs.Op) error {
		if armed.Load() && strings.Contains(op.Path, ".craft") {
			return syscall.EIO
		}
		return nil
	})
	p := newProgram(t, nil, true, WithPath("/cp"), withFS(fsys), inMode("copy"))
	require.NoError(t, p.run(t.Context(), 3, 1))
	armed.Store(true)
	err := p.advance(t.Context(), 1) // may know already
	require.ErrorIs(t, errors.Join(err, p.cp.Close()), syscall.EIO)
}

// A cancelled context ends the wait and not the write, which Close brings to
// its end.
func TestCancelledWait(t *testing.T) {
	disk := newGate(vfs.NewMem())
	p := newProgram(t, nil, true, WithPath("/cp"), withFS(disk), inMode("copy"))
	require.NoError(t, p.run(t.Context(), 3, 1))
	disk.hold()
	require.NoError(t, p.advance(t.Context(), 1))
	<-disk.held
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the job is over")
	cancel(why)
	require.ErrorIs(t, p.cp.Wait(ctx), why)
	require.ErrorIs(t, p.cp.UpdateAndWrite(ctx, 4, 1), why)
	disk.open()
	require.NoError(t, p.cp.Close())
	require.Equal(t, 4, restartAndFinish(t, disk, 1, 5, "after a cancelled wait"))
}

// When staging is full, and the writer stuck, the copying ends with its context,
// and with Close the half version is gone.
func TestCancelledCopy(t *testing.T) {
	mem := vfs.NewMem()
	disk := newGate(mem)
	p := newProgram(t, nil, true, WithPath("/cp"), withFS(disk), inMode("copy"), WithStaging(16<<10))
	p.n, p.v = 100_000, make([]float64, 100_000)
	cp := open(t, "/cp", map[string]any{"v": &p.v}, withFS(disk), inMode("copy"), WithStaging(16<<10))
	require.NoError(t, p.cp.Close())
	require.NoError(t, cp.UpdateAndWrite(t.Context(), 0, 1))
	require.NoError(t, cp.Wait(t.Context()))
	disk.hold()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- cp.UpdateAndWrite(ctx, 1, 1) }()
	<-disk.held
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	disk.open()
	require.ErrorIs(t, cp.Close(), context.Canceled)
	entries, err := mem.ReadDir("/cp/test")
	require.NoError(t, err)
	versions := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "v-") {
			versions++
		}
	}
	require.Equal(t, 1, versions)
}

// touchy is a value whose methods fail or panic when they are told to.
type touchy struct{ update, write func() error }

func (f *touchy) Update() error {
	if f.update != nil {
		return f.update()
	}
	return nil
}

func (f *touchy) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write([]byte("half"))
	if err == nil && f.write != nil {
		err = f.write()
	}
	return int64(n), err
}

func (f *touchy) ReadFrom(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }

// A value's own failure, or panic, costs its version and nothing else, in all
// modes and on all ranks.
func TestFailingValues(t *testing.T) {
	broken := errors.New("the device is off")
	for _, mode := range modes {
		for _, where := range []string{"update", "write"} {
			for _, ranks := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s, %s, %d ranks", mode, where, ranks), func(t *testing.T) {
					dir := t.TempDir()
					err := embedded.Run(t.Context(), ranks, func(ctx context.Context, c comm.Comm) error {
						value := &touchy{}
						big := make([]float64, 10_000)
						cp, err := New("test", c, WithPath(dir), inMode(mode))
						require.NoError(t, err)
						defer cp.Close()
						require.NoError(t, cp.Add("big", &big))
						require.NoError(t, cp.Add("value", value))
						require.NoError(t, cp.Add("more", &big))
						require.NoError(t, cp.Commit())
						fails := func() error { return broken }
						if int(c.Rank()) == ranks-1 && where == "update" {
							value.update = fails
						} else if int(c.Rank()) == ranks-1 {
							value.write = fails
						}
						err = cp.UpdateAndWrite(ctx, 0, 1)
						if err == nil {
							err = cp.Wait(ctx)
						}
						if err == nil || !strings.Contains(err.Error(), `key "value"`) && where == "update" {
							return fmt.Errorf("the failure did not come out: %w", err)
						}
						if int(c.Rank()) == ranks-1 && !errors.Is(err, broken) {
							return fmt.Errorf("the cause is hidden: %w", err)
						}
						value.update, value.write = nil, nil
						if err := cp.UpdateAndWrite(ctx, 1, 1); err != nil {
							return err
						}
						return cp.Wait(ctx)
					})
					require.NoError(t, err)
					left, err := filepath.Glob(filepath.Join(dir, "test", "v-*"))
					require.NoError(t, err)
					require.Len(t, left, 1)
				})
			}
		}
	}
	for _, mode := range modes[1:] {
		value := &touchy{update: func() error { panic("in Update") }}
		cp := open(t, t.TempDir(), map[string]any{"value": value}, inMode(mode))
		require.PanicsWithValue(t, "in Update", func() { _ = cp.Write(t.Context()) })
		value.update, value.write = nil, func() error { panic("in WriteTo") }
		require.PanicsWithValue(t, "in WriteTo", func() { _ = cp.Write(t.Context()) })
		value.write = nil
		require.ErrorContains(t, cp.Write(t.Context()), "panicked")
		require.NoError(t, cp.Wait(t.Context()))
	}
}

// Every operation of a background write is made to fail in turn, on any rank:
// the failure comes out, earlier versions stay, later ones are stored, and
// nothing is left open, allocated or running.
func TestEveryOperationOfABackgroundWriteMayFail(t *testing.T) {
	for _, mode := range modes[1:] {
		for _, c := range []struct{ ranks, victim int }{{1, 0}, {2, 0}, {2, 1}} {
			failures, n := 0, 1
			for ; failInBackground(t, n, c.ranks, c.victim, mode, &failures); n++ {
			}
			t.Logf("%s, rank %d of %d: %d of %d operations made the version fail", mode, c.victim, c.ranks, failures, n)
			require.Greater(t, failures, 5)
		}
	}
}

func failInBackground(t *testing.T, n, ranks, victim int, mode string, failures *int) (more bool) {
	disk := vfs.NewMem()
	var armed, failed atomic.Bool
	var count atomic.Int64
	faulty := vfs.WithErrors(disk, func(vfs.Op) error {
		if armed.Load() && count.Add(1) == int64(n) {
			return syscall.EIO
		}
		return nil
	})
	err := embedded.Run(t.Context(), ranks, func(ctx context.Context, c comm.Comm) error {
		fsys := vfs.FS(disk)
		if int(c.Rank()) == victim {
			fsys = faulty
		}
		p := newProgram(t, c, true, WithPath("/cp"), withFS(fsys), inMode(mode))
		defer p.cp.Close()
		if err := errors.Join(p.run(ctx, 3, 1), p.cp.choresDone(ctx)); err != nil {
			return err
		}
		if int(c.Rank()) == victim { // what it has left to do is done
			armed.Store(true)
		}
		err := p.advance(ctx, 1) // one rank alone may know already
		if err == nil || ranks > 1 {
			err = errors.Join(err, p.cp.Wait(ctx))
		}
		if err2 := comm.Barrier(ctx, c); err2 != nil {
			return err2
		}
		armed.Store(false)
		if err != nil {
			failed.Store(true)
			if int(c.Rank()) == victim && !errors.Is(err, syscall.EIO) {
				return fmt.Errorf("operation %d: the error hides its cause: %w", n, err)
			}
		}
		p.iter++
		if err := p.run(ctx, 5, 1); err != nil {
			return err
		}
		err = p.cp.Close()
		if p.cp.staging.Allocated() != 0 {
			return errors.New("staging memory is left after Close")
		}
		return err
	})
	require.NoError(t, err)
	require.Equal(t, 5, restartAndFinish(t, disk, ranks, 6, fmt.Sprintf("after operation %d failed", n)))
	if failed.Load() {
		*failures++
	}
	return count.Load() >= int64(n)
}

// No goroutine, descriptor or staging memory is left after Close, whatever has
// failed before.
func TestNothingIsLeftOfBackgroundWrites(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	round := func() {
		for _, mode := range modes[1:] {
			dir := t.TempDir()
			p := newProgram(t, nil, true, WithPath(dir), inMode(mode))
			require.NoError(t, p.run(t.Context(), 3, 1))
			require.NoError(t, p.advance(t.Context(), 1))
			require.NoError(t, p.cp.Close()) // without Wait
			require.Zero(t, p.cp.staging.Allocated())

			q := newProgram(t, nil, true, WithPath(dir), inMode(mode))
			require.NoError(t, q.run(t.Context(), 5, 1))
			require.NoError(t, q.cp.choresDone(t.Context()))
			require.NoError(t, os.RemoveAll(dir)) // the write fails
			err := q.advance(t.Context(), 1)      // may know already
			require.Error(t, errors.Join(err, q.cp.Close()))
			require.Zero(t, q.cp.staging.Allocated())

			r := open(t, t.TempDir(), map[string]any{"x": &touchy{write: func() error { return io.ErrClosedPipe }}}, inMode(mode))
			require.ErrorIs(t, r.Write(t.Context()), io.ErrClosedPipe)
			require.NoError(t, r.Close())
			require.Zero(t, r.staging.Allocated())
		}
	}
	files := func() int {
		open, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(open)
	}
	round()
	wantFiles, wantRoutines := files(), runtime.NumGoroutine()
	for range 5 {
		round()
	}
	require.LessOrEqual(t, files(), wantFiles)
	// One that has done its work may take a moment to be gone.
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > wantRoutines && time.Now().Before(end); {
		runtime.Gosched()
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), wantRoutines)
}

func TestAsyncSettings(t *testing.T) {
	_, err := New("x", nil, WithAsync("sometimes"))
	require.ErrorIs(t, err, ErrArgument)
	require.ErrorContains(t, err, "zero-copy")
	_, err = New("x", nil, WithAsync("copy"), WithStaging(1<<20))
	require.ErrorContains(t, err, "CRAFT_ASYNC_STAGING")
	require.ErrorContains(t, err, "16MiB")
	for name, value := range map[string]string{
		"CRAFT_ASYNC_THREAD_PIN_CPULIST": "0-x", "CRAFT_ASYNC_STAGING": "much", "CRAFT_DRAIN_TIMEOUT": "0s",
		"CRAFT_DEBUG": "5", "CRAFT_DEBUG_PROC": "-1", "CRAFT_WRITE_ASYNC": "perhaps", "CRAFT_TIMING": "7",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			_, err := New("x", nil)
			require.ErrorContains(t, err, fmt.Sprintf("%s=%q", name, value))
			require.ErrorContains(t, err, "allowed are")
		})
	}
	t.Run("impossible processor", func(t *testing.T) {
		t.Setenv("CRAFT_WRITE_ASYNC", "1")
		t.Setenv("CRAFT_ASYNC_THREAD_PIN_CPULIST", "60000")
		_, err := New("x", nil)
		require.ErrorIs(t, err, async.ErrCPUList)
		require.ErrorContains(t, err, "CRAFT_ASYNC_THREAD_PIN_CPULIST")
	})
	t.Run("environment chooses", func(t *testing.T) {
		t.Setenv("CRAFT_WRITE_ASYNC", "1")
		cp, err := New("x", nil)
		require.NoError(t, err)
		require.Equal(t, copied, cp.opt.mode())
		t.Setenv("CRAFT_WRITE_ASYNC_ZERO_COPY", "1")
		cp, err = New("x", nil)
		require.NoError(t, err)
		require.Equal(t, zeroCopy, cp.opt.mode())
		cp, err = New("x", nil, WithAsync("off"))
		require.NoError(t, err)
		require.Equal(t, synchronous, cp.opt.mode())
	})
}
