package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
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
					err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
						p := newProgram(t, c, true, options...)
						defer p.cp.Close()
						if err := p.run(ctx, until, 1); err != nil {
							return err
						}
						if until == 12 {
							require.Equal(t, wantV[p.lo:p.hi], p.v)
							require.Equal(t, wantSums, p.sums)
						}
						require.Equal(t, until, int(p.cp.line.attempt.last))
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
		err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
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

// Close waits for the last version, also on several ranks, and returns what
// went wrong with it.
func TestCloseDrains(t *testing.T) {
	for _, mode := range modes[1:] {
		for _, ranks := range []int{1, 3} {
			disk := vfs.NewMem()
			err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
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
			require.Zero(t, p.cp.out.staging.Allocated())

			q := newProgram(t, nil, true, WithPath(dir), inMode(mode))
			require.NoError(t, q.run(t.Context(), 5, 1))
			require.NoError(t, q.cp.up.maintenanceDone(t.Context()))
			require.NoError(t, os.RemoveAll(dir)) // the write fails
			err := q.advance(t.Context(), 1)      // may know already
			require.Error(t, errors.Join(err, q.cp.Close()))
			require.Zero(t, q.cp.out.staging.Allocated())

			r := open(t, t.TempDir(), map[string]any{"x": &touchy{write: func() error { return io.ErrClosedPipe }}}, inMode(mode))
			require.ErrorIs(t, r.Write(t.Context()), io.ErrClosedPipe)
			require.NoError(t, r.Close())
			require.Zero(t, r.out.staging.Allocated())
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
	_, err = New("x", nil, WithAsync(AsyncCopy), WithStaging(1<<20))
	require.ErrorContains(t, err, "CRAFT_ASYNC_STAGING")
	require.Equal(t, 1, strings.Count(err.Error(), "at least"))
	_, err = New("x", nil, WithAsync(AsyncCopy), WithStaging(1<<20), WithDelta(4))
	require.NoError(t, err)
	_, err = New("x", nil, WithAsync(AsyncCopy), WithStaging(1<<20-1), WithDelta(4))
	require.ErrorContains(t, err, "1MiB with CRAFT_DELTA=1")
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
		require.Equal(t, AsyncCopy, cp.opt.mode())
		t.Setenv("CRAFT_WRITE_ASYNC_ZERO_COPY", "1")
		cp, err = New("x", nil)
		require.NoError(t, err)
		require.Equal(t, AsyncZeroCopy, cp.opt.mode())
		cp, err = New("x", nil, WithAsync(AsyncOff))
		require.NoError(t, err)
		require.Equal(t, AsyncOff, cp.opt.mode())
	})
}
