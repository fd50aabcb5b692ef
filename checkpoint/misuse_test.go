package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
)

// writeOn lets each of two ranks write one version as setup says, and returns
// their errors.
func writeOn(t *testing.T, setup func(rank int, v *[]float64) (opts []Option, value any)) []error {
	errs := make([]error, 2)
	require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		v := make([]float64, 3)
		opts, value := setup(int(c.Rank()), &v)
		cp, err := New("misuse", c, opts...)
		if err != nil {
			return err
		}
		defer cp.Close()
		_ = cp.Add("v", value)
		if err := cp.Commit(); err != nil {
			return err
		}
		errs[c.Rank()] = cp.Write(ctx)
		return nil
	}))
	return errs
}

func TestRanksThatAreNotOfOneMind(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for name, setup := range map[string]func(rank int, v *[]float64) ([]Option, any){
		"different fingerprints": func(rank int, v *[]float64) ([]Option, any) {
			return []Option{WithPath(dir), WithFingerprint(map[string]int{"rank": rank})}, v
		},
		"different directories": func(rank int, v *[]float64) ([]Option, any) {
			require.NoError(t, os.MkdirAll(filepath.Join(other, "misuse"), 0o700))
			return []Option{WithPath([]string{dir, other}[rank])}, v
		},
		"partitioned on one rank only": func(rank int, v *[]float64) ([]Option, any) {
			if rank == 1 {
				return []Option{WithPath(dir)}, cptypes.Partitioned(v, 0, 3, 3)
			}
			return []Option{WithPath(dir)}, v
		},
	} {
		t.Run(name, func(t *testing.T) {
			for rank, err := range writeOn(t, setup) {
				require.ErrorIs(t, err, ErrDisagree, "rank %d", rank)
			}
		})
	}
}

// A version that lost a part after it was complete: the one before it is used;
// if there is none, nothing starts from zero by itself.
func TestLostParts(t *testing.T) {
	dir, newest, older := stored(t)
	require.NoError(t, os.Remove(partFile(newest, 0)))
	var log bytes.Buffer
	from, err := restartFrom(t, dir, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	require.NoError(t, err)
	require.Equal(t, 3, from)
	require.DirExists(t, newest, "somebody may put the part back")
	require.Contains(t, log.String(), "lost=0")
	require.NotContains(t, log.String(), "interrupted write")
	require.NoError(t, os.RemoveAll(older))
	_, err = restartFrom(t, dir)
	require.ErrorIs(t, err, ErrNoUsableVersion)
	require.ErrorContains(t, err, newest)
	require.DirExists(t, newest)
}

// Versions may be moved to another disk and linked.
func TestLinkedVersions(t *testing.T) {
	dir, newest, _ := stored(t)
	elsewhere := filepath.Join(t.TempDir(), "version")
	require.NoError(t, os.CopyFS(elsewhere, os.DirFS(newest)))
	require.NoError(t, os.RemoveAll(newest))
	require.NoError(t, os.Symlink(elsewhere, newest))
	from, err := restartFrom(t, dir)
	require.NoError(t, err)
	require.Equal(t, 4, from)
	// Retention removes the link and not what it points to.
	require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		p := newProgram(t, c, true, WithPath(dir), WithKeep(1))
		defer p.cp.Close()
		return p.run(ctx, 6, 1)
	}))
	require.FileExists(t, partFile(elsewhere, 0))
}

// A job whose lock was removed may not go on writing: another one may have been
// there since.
func TestRemovedLock(t *testing.T) {
	dir := t.TempDir()
	x := 1
	cp := open(t, dir, map[string]any{"x": &x})
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, os.Remove(filepath.Join(dir, "test", ".lock")))
	require.ErrorIs(t, cp.Write(t.Context()), storage.ErrLockLost)
}

// meddler's Update changes another value.
type meddler struct{ other *[]int }

func (m meddler) Update() error { *m.other = append(*m.other, 7); return nil }
func (m meddler) WriteTo(w io.Writer) (int64, error) {
	n, err := fmt.Fprint(w, "m")
	return int64(n), err
}
func (m meddler) ReadFrom(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }

func TestUpdateOfOneValueMayChangeAnother(t *testing.T) {
	dir := t.TempDir()
	list := []int{}
	write := func() *Checkpoint {
		cp, err := New("test", nil, WithPath(dir))
		require.NoError(t, err)
		require.NoError(t, cp.Add("list", &list))
		require.NoError(t, cp.Add("meddler", meddler{&list}))
		require.NoError(t, cp.Commit())
		return cp
	}
	cp := write()
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, cp.Close())
	list = nil
	cp = write()
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.Equal(t, []int{7}, list)
	require.NoError(t, cp.Close())
}

// A program that changes its directory goes on writing to the same place.
func TestChangedWorkingDirectory(t *testing.T) {
	start := t.TempDir()
	t.Chdir(start)
	x := 1
	cp := open(t, ".", map[string]any{"x": &x})
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, os.Chdir(t.TempDir()))
	require.NoError(t, cp.Write(t.Context()))
	found, err := filepath.Glob(filepath.Join(start, "test", "v-*"))
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.NoError(t, os.Chdir(start))
}

// asks calls something while it is stored.
type asks struct {
	cptypes.Value
	call func()
}

func (a asks) Update() error { a.call(); return nil }

// TestTwoGoroutinesAtOnce: whoever comes into a call of another goroutine is told so and
// changes nothing.
func TestTwoGoroutinesAtOnce(t *testing.T) {
	var cp *Checkpoint
	iter, calls := 0, 0
	other, err := New("other", nil, WithPath(t.TempDir()))
	require.NoError(t, err)
	another := func() {
		calls++
		for name, call := range map[string]func() error{
			"Write":           func() error { return cp.Write(t.Context()) },
			"UpdateAndWrite":  func() error { return cp.UpdateAndWrite(t.Context(), 1, 1) },
			"RestartIfNeeded": func() error { return cp.RestartIfNeeded(t.Context(), &iter) },
			"Wait":            func() error { return cp.Wait(t.Context()) },
			"Flush":           func() error { return cp.Flush(t.Context()) },
			"Close":           cp.Close,
			"Commit":          cp.Commit,
			"Add":             func() error { return cp.Add("y", &iter) },
			"SubCP":           func() error { return cp.SubCP(other) },
			"SubCP of it":     func() error { return other.SubCP(cp) },
		} {
			err := call()
			require.ErrorIs(t, err, ErrState, name)
			require.ErrorContains(t, err, "another goroutine is in a call of it")
		}
	}
	for _, mode := range modes {
		cp = withValue(t, "x", asks{meddler{}, another}, WithPath(t.TempDir()), inMode(mode))
		require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
		require.NoError(t, cp.Write(t.Context()))
		require.NoError(t, cp.Wait(t.Context()))
		require.Equal(t, 1, cp.Stats().VersionsWritten)
		require.NoError(t, cp.Close())
	}
	require.Equal(t, len(modes), calls)
}

// A signal handler that closes a checkpoint which writes just then neither takes the lock
// from it nor anything else.
func TestCloseWhileAnotherGoroutineWrites(t *testing.T) {
	for _, mode := range modes {
		writing, closed := make(chan struct{}), make(chan error)
		var cp *Checkpoint
		go func() {
			<-writing
			closed <- cp.Close()
		}()
		dir, once := t.TempDir(), false
		cp = withValue(t, "x", asks{meddler{}, func() {
			if !once {
				once = true
				close(writing)
				require.ErrorIs(t, <-closed, ErrState)
			}
		}}, WithPath(dir), inMode(mode))
		require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
		require.NoError(t, cp.Write(t.Context()))
		require.NoError(t, cp.Write(t.Context()))
		require.NoError(t, cp.Close())
		require.NoError(t, cp.Close(), "further calls do nothing")
		require.NoFileExists(t, filepath.Join(dir, "x", ".lock"))
	}
}

// The closing by whoever gives the communicator up waits for no call.
func TestGivenUpWithinACall(t *testing.T) {
	for _, mode := range modes {
		dir := t.TempDir()
		m, c := newMember(0, 0)
		cp, err := New("x", c, WithPath(dir), inMode(mode))
		require.NoError(t, err)
		calls := 0
		require.NoError(t, cp.Add("x", asks{meddler{}, func() {
			if calls++; calls == 2 {
				m.release(t)
			}
		}}))
		require.NoError(t, cp.Commit())
		require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
		require.NoError(t, cp.Write(t.Context()))
		err = cp.Write(t.Context())
		require.ErrorIs(t, err, ErrState)
		require.ErrorContains(t, err, "after its communicator was given up")
		require.NoFileExists(t, filepath.Join(dir, "x", ".lock"))
		require.NoError(t, cp.Close())
		found, err := filepath.Glob(filepath.Join(dir, "x", "v-*"))
		require.NoError(t, err)
		require.Len(t, found, 1)
	}
}

// TestCopiedCheckpoint: a copy gives out no numbers of versions again.
func TestCopiedCheckpoint(t *testing.T) {
	for _, enable := range []bool{true, false} {
		x, iter, dir := 0, 0, t.TempDir()
		cp, err := New("x", nil, WithPath(dir), func(o *options) { o.Enable = enable })
		require.NoError(t, err)
		require.NoError(t, cp.Add("x", &x))
		early := copyOf(cp)
		require.NoError(t, cp.Commit())
		require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
		require.NoError(t, cp.UpdateAndWrite(t.Context(), 0, 1))
		for _, other := range []*Checkpoint{early, copyOf(cp), new(Checkpoint)} {
			for name, call := range map[string]func() error{
				"Add":             func() error { return other.Add("y", &iter) },
				"Commit":          other.Commit,
				"RestartIfNeeded": func() error { return other.RestartIfNeeded(t.Context(), &iter) },
				"UpdateAndWrite":  func() error { return other.UpdateAndWrite(t.Context(), 1, 1) },
				"Write":           func() error { return other.Write(t.Context()) },
				"Wait":            func() error { return other.Wait(t.Context()) },
				"Flush":           func() error { return other.Flush(t.Context()) },
				"SubCP":           func() error { return other.SubCP(cp) },
				"SubCP of it":     func() error { return cp.SubCP(other) },
				"Close":           other.Close,
			} {
				err := call()
				if !enable && name == "SubCP of it" {
					continue
				}
				require.ErrorIs(t, err, ErrState, name)
				require.ErrorContains(t, err, "use the pointer that New has returned")
			}
			require.Nil(t, other.Stored())
			_, _ = other.Stats(), other.Progress()
		}
		require.NoError(t, cp.UpdateAndWrite(t.Context(), 1, 1))
		require.NoError(t, cp.Close())
		require.ErrorIs(t, early.Close(), ErrState)
		found, err := filepath.Glob(filepath.Join(dir, "x", "v-00000?-*"))
		require.NoError(t, err)
		require.Equal(t, enable, len(found) == 2)
	}
}

// copyOf is what go vet would not let pass.
func copyOf(cp *Checkpoint) *Checkpoint {
	out := reflect.New(reflect.TypeFor[Checkpoint]())
	out.Elem().Set(reflect.ValueOf(cp).Elem())
	return out.Interface().(*Checkpoint)
}

// An option that is nil, of a flag that was not given, say, is an error that tells which.
func TestNilOptions(t *testing.T) {
	var option Option
	_, err := New("cp", nil, WithPath(t.TempDir()), option)
	require.ErrorIs(t, err, ErrArgument)
	require.ErrorContains(t, err, "option 2 of 2 is nil")
	cp, err := New("cp", nil, WithPath(t.TempDir()))
	require.NoError(t, err)
	defer cp.Close()
	var add AddOption
	err = cp.Add("x", new(int), Optional(), add)
	require.ErrorIs(t, err, ErrArgument)
	require.ErrorContains(t, err, `"x"`)
	require.NoError(t, cp.Add("x", new(int)))
}

// A checkpoint that looks like a part of one would hide all others beside it.
func TestNamesOfWhatADirectoryHolds(t *testing.T) {
	for name, what := range map[string]string{
		"v-000001-0123456789abcdef": "a version", "NODES.json": "a note", "LATEST.json": "a note",
		"RUN-20260102T030405678Z-0123456789abcdef.json": "the record of a run",
	} {
		_, err := New(name, nil, WithPath(t.TempDir()))
		require.ErrorIs(t, err, storage.ErrName)
		require.ErrorContains(t, err, fmt.Sprintf("checkpoint name %q: %v: it is the name of %s", name, storage.ErrName, what))
	}
	for _, name := range []string{"v-1-0123456789abcdef", "v-000001", "nodes", "RUN-1.json", "heat.json"} {
		cp, err := New(name, nil, WithPath(t.TempDir()))
		require.NoError(t, err)
		require.NoError(t, cp.Close())
	}
}
