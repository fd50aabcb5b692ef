package checkpoint

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// open makes and commits a checkpoint of one process with the given values.
func open(t *testing.T, dir string, values map[string]any, opts ...Option) *Checkpoint {
	t.Helper()
	cp, err := New("test", nil, append([]Option{WithPath(dir), WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	require.NoError(t, err)
	for key, v := range values {
		require.NoError(t, cp.Add(key, v))
	}
	require.NoError(t, cp.Commit())
	t.Cleanup(func() { require.NoError(t, cp.Close()) })
	return cp
}

// store writes one version.
func store(t *testing.T, dir string, values map[string]any, opts ...Option) {
	t.Helper()
	cp := open(t, dir, values, opts...)
	require.NoError(t, cp.UpdateAndWrite(t.Context(), 7, 1))
	require.NoError(t, cp.Close())
}

func TestRestartSetsTheNextIteration(t *testing.T) {
	dir := t.TempDir()
	x := 1.5
	store(t, dir, map[string]any{"x": &x})
	var y float64
	iter := 0
	cp := open(t, dir, map[string]any{"x": &y})
	require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
	require.Equal(t, 8, iter)
	require.Equal(t, 1.5, y)
	// Later calls do nothing.
	y, iter = 2, 3
	require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
	require.Equal(t, 2.0, y)
	require.Equal(t, 3, iter)
	// A version without an iteration leaves it.
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, cp.Close())
	cp = open(t, dir, map[string]any{"x": &y})
	require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
	require.Equal(t, 3, iter)
	require.NoError(t, open(t, t.TempDir(), map[string]any{"x": &y}).RestartIfNeeded(t.Context(), nil))
}

func TestFrequency(t *testing.T) {
	x := 1
	cp := open(t, t.TempDir(), map[string]any{"x": &x})
	for i := range 101 {
		require.NoError(t, cp.UpdateAndWrite(t.Context(), i, 20))
	}
	require.Equal(t, 6, cp.Stats().VersionsWritten)
	require.ErrorIs(t, cp.UpdateAndWrite(t.Context(), 0, -1), ErrArgument)
}

// An iteration that stands for none, or that has no next one, is refused.
func TestExtremeIterations(t *testing.T) {
	dir := t.TempDir()
	x := 1
	cp := open(t, dir, map[string]any{"x": &x})
	for _, iter := range []int{math.MaxInt, math.MinInt} {
		require.ErrorIs(t, cp.UpdateAndWrite(t.Context(), iter, 1), ErrArgument)
		require.ErrorContains(t, cp.Finish(t.Context(), iter), "it must be greater than")
		require.NoError(t, cp.UpdateAndWrite(t.Context(), iter, math.MaxInt-1), "it is not due")
	}
	require.Zero(t, cp.Stats().VersionsWritten)
	for _, iter := range []int{math.MinInt + 1, math.MaxInt - 1} {
		require.NoError(t, cp.UpdateAndWrite(t.Context(), iter, 1))
		require.NoError(t, cp.Close())
		next := 0
		cp = open(t, dir, map[string]any{"x": &x})
		require.NoError(t, cp.RestartIfNeeded(t.Context(), &next))
		require.Equal(t, iter+1, next)
	}
	// Earlier versions of this program have stored it.
	require.NoError(t, cp.out.write(t.Context(), math.MaxInt64))
	require.NoError(t, cp.Close())
	cp = open(t, dir, map[string]any{"x": &x})
	next := 0
	x = 2
	require.ErrorIs(t, cp.RestartIfNeeded(t.Context(), &next), ErrArgument)
	require.Zero(t, next)
	require.Equal(t, 2, x, "nothing has changed")
	require.ErrorIs(t, cp.Write(t.Context()), ErrState)
}

func TestKeysMustMatch(t *testing.T) {
	dir := t.TempDir()
	a, b := 1.5, []int32{1, 2}
	store(t, dir, map[string]any{"a": &a, "b": &b})
	var f32 float32
	var b64 []int64
	var text string
	for name, c := range map[string]struct {
		values map[string]any
		key    string
		text   string
	}{
		"missing in the file":    {map[string]any{"a": &a, "b": &b, "c": &text}, "c", "not stored"},
		"missing in the program": {map[string]any{"a": &a}, "b", "not added"},
		"retyped scalar":         {map[string]any{"a": &f32, "b": &b}, "a", "float64"},
		"retyped slice":          {map[string]any{"a": &a, "b": &b64}, "b", "int32"},
		"scalar to string":       {map[string]any{"a": &text, "b": &b}, "a", "string"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b = 9, []int32{9, 9}
			err := open(t, dir, c.values).RestartIfNeeded(t.Context(), nil)
			require.ErrorIs(t, err, ErrKey)
			require.ErrorContains(t, err, fmt.Sprintf("%q", c.key))
			require.ErrorContains(t, err, c.text)
			var key *KeyError
			require.ErrorAs(t, err, &key)
			require.Equal(t, c.key, key.Key)
		})
	}
	// An optional key may be missing.
	cp, err := New("test", nil, WithPath(dir))
	require.NoError(t, err)
	require.NoError(t, cp.Add("a", &a))
	require.NoError(t, cp.Add("b", &b))
	text = "as it was"
	require.NoError(t, cp.Add("c", &text, Optional()))
	require.NoError(t, cp.Commit())
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.Equal(t, "as it was", text)
	require.Equal(t, []int32{1, 2}, b)
	require.NoError(t, cp.Close())
}

func TestAddErrors(t *testing.T) {
	cp, err := New("test", nil)
	require.NoError(t, err)
	x := 1
	require.NoError(t, cp.Add("x", &x))
	for key, v := range map[string]any{"x": &x, "": &x, "a/b": &x, "nil": nil, "pointer": (*int)(nil), "value": x, "chan": make(chan int)} {
		err := cp.Add(key, v)
		require.ErrorIs(t, err, ErrKey)
		require.ErrorContains(t, err, fmt.Sprintf("%q", key))
	}
	first := cp.reg.addErr
	require.Equal(t, first, cp.Commit())
	require.ErrorIs(t, cp.Write(t.Context()), ErrState)
	require.ErrorIs(t, cp.RestartIfNeeded(t.Context(), nil), ErrState)
	_, err = New("a/b", nil)
	require.ErrorIs(t, err, storage.ErrName)
}

func TestCallsOutOfOrder(t *testing.T) {
	x := 1
	cp := open(t, t.TempDir(), map[string]any{"x": &x})
	require.ErrorIs(t, cp.Add("y", &x), ErrState)
	require.ErrorIs(t, cp.Commit(), ErrState)
	require.NoError(t, cp.Close())
	require.NoError(t, cp.Close())
	require.ErrorIs(t, cp.Write(t.Context()), ErrState)
	require.ErrorIs(t, cp.RestartIfNeeded(t.Context(), nil), ErrState)
	require.ErrorIs(t, cp.Add("y", &x), ErrState)
}

func TestFingerprint(t *testing.T) {
	type problem struct {
		Matrix string
		N      int
		Seed   uint64
	}
	dir := t.TempDir()
	x := 1
	mine := problem{"graphene", 100, math.MaxUint64}
	store(t, dir, map[string]any{"x": &x}, WithFingerprint(mine))
	cp := open(t, dir, map[string]any{"x": &x}, WithFingerprint(mine))
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, cp.Close())
	for _, other := range []any{problem{"graphene", 200, math.MaxUint64}, problem{"graphene", 100, math.MaxUint64 - 1}, nil, "text"} {
		for _, read := range []bool{true, false} { // also a fresh run must not write over it
			err := open(t, dir, map[string]any{"x": &x}, WithFingerprint(other), WithReadOnRestart(read)).RestartIfNeeded(t.Context(), nil)
			require.ErrorIs(t, err, ErrFingerprint)
		}
	}
	err := open(t, dir, map[string]any{"x": &x}, WithFingerprint(problem{"graphene", 200, math.MaxUint64})).Write(t.Context())
	require.ErrorIs(t, err, ErrFingerprint)
	require.ErrorContains(t, err, "N: stored 100, now 200")
	require.NotContains(t, err.Error(), "Matrix")
	_, err = New("test", nil, WithFingerprint(make(chan int)))
	require.ErrorIs(t, err, ErrArgument)
}

func TestLineages(t *testing.T) {
	dir := t.TempDir()
	x := 1
	values := map[string]any{"x": &x}
	store(t, dir, values)
	// A fresh run makes a new lineage that a restart does not leave.
	x = 2
	store(t, dir, values, WithReadOnRestart(false))
	newest, err := filepath.Glob(filepath.Join(dir, "test", "v-000002-*", "*"))
	require.NoError(t, err)
	cp := open(t, dir, values)
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.Equal(t, 2, x)
	require.NoError(t, cp.Close())
	require.NoError(t, os.Truncate(newest[0], 300))
	require.NoError(t, err)
	data, err := os.ReadFile(newest[0])
	require.NoError(t, err)
	require.Len(t, data, 300)
	require.ErrorIs(t, open(t, dir, values).RestartIfNeeded(t.Context(), nil), ErrNoUsableVersion)
}

// Numbers only grow, also over failed and deleted versions.
func TestNumbersGrow(t *testing.T) {
	for _, levels := range []string{"", "local:1"} {
		t.Run(levels, func(t *testing.T) { numbersGrow(t, withLevels(levels), WithNodePath(t.TempDir())) })
	}
}

func numbersGrow(t *testing.T, opts ...Option) {
	dir := t.TempDir()
	x := 1
	values := map[string]any{"x": &x}
	for range 3 {
		cp := open(t, dir, values, opts...)
		require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
		for range 3 {
			require.NoError(t, cp.Write(t.Context()))
		}
		require.NoError(t, cp.Close())
	}
	// An unfinished version of another attempt counts as well.
	require.NoError(t, os.Mkdir(filepath.Join(dir, "test", "v-000041-0123456789abcdef"), 0o700))
	cp := open(t, dir, values, opts...)
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, cp.Write(t.Context()))
	stored := cp.Stored()
	require.EqualValues(t, 42, stored[len(stored)-1].Version)
	require.NoDirExists(t, filepath.Join(dir, "test", "v-000041-0123456789abcdef"))
}

func TestRetentionOnDisk(t *testing.T) {
	for _, keep := range []int{1, 2, 3} {
		dir := t.TempDir()
		x := 1
		cp := open(t, dir, map[string]any{"x": &x}, WithKeep(keep))
		for i := range 6 {
			require.NoError(t, cp.Write(t.Context()))
			found, err := filepath.Glob(filepath.Join(dir, "test", "v-*"))
			require.NoError(t, err)
			require.Len(t, found, min(i+1, keep))
		}
		require.NoError(t, cp.Close())
		found, err := filepath.Glob(filepath.Join(dir, "test", "v-*"))
		require.NoError(t, err)
		require.Len(t, found, keep)
		// What was restored is verified and stays.
		cp = open(t, dir, map[string]any{"x": &x}, WithKeep(keep))
		require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
		for range 6 {
			require.NoError(t, cp.Write(t.Context()))
		}
		require.NoError(t, cp.Close())
		found, err = filepath.Glob(filepath.Join(dir, "test", "v-*"))
		require.NoError(t, err)
		require.Len(t, found, keep+1)
		require.Contains(t, found[0], "v-000006-")
		require.FileExists(t, filepath.Join(dir, "test", "LATEST.json"))
	}
}

func TestDisabled(t *testing.T) {
	t.Setenv("CRAFT_ENABLE", "0")
	dir := t.TempDir()
	x := 1
	cp := open(t, dir, map[string]any{"x": &x})
	require.NoError(t, cp.RestartIfNeeded(t.Context(), &x))
	require.NoError(t, cp.UpdateAndWrite(t.Context(), 0, 1))
	require.NoError(t, cp.Write(t.Context()))
	require.NoDirExists(t, filepath.Join(dir, "test"))
}

func TestEnvironment(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	t.Setenv("CRAFT_CP_PAHT", t.TempDir())
	_, err := New("test", nil, WithLogger(logger))
	require.NoError(t, err)
	require.Contains(t, log.String(), "variable=CRAFT_CP_PAHT nearest=CRAFT_CP_PATH")
	for name, value := range map[string]string{"CRAFT_ENABLE": "yes please", "CRAFT_KEEP": "0", "CRAFT_SYNC": "maybe", "CRAFT_COMPRESS": "zip", "CRAFT_FILE_MODE": "0777"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			_, err := New("test", nil, WithLogger(logger))
			require.ErrorContains(t, err, fmt.Sprintf("%s=%q", name, value))
			require.ErrorContains(t, err, "allowed are")
		})
	}
}

func TestTwoJobsOnOnePath(t *testing.T) {
	dir := t.TempDir()
	x := 1
	other := func(o *options) {
		o.lock.Job = "another job"
		o.fs = vfs.WithErrors(vfs.OS(), func(vfs.Op) error { return nil }) // passes for another process
	}
	first := open(t, dir, map[string]any{"x": &x})
	require.NoError(t, first.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, first.Write(t.Context()))
	second := open(t, dir, map[string]any{"x": &x}, other)
	err := second.RestartIfNeeded(t.Context(), nil)
	require.ErrorIs(t, err, storage.ErrLocked)
	require.ErrorContains(t, err, fmt.Sprint("process ", os.Getpid()))
	require.ErrorContains(t, err, "craft unlock")
	require.ErrorIs(t, second.Write(t.Context()), storage.ErrLocked)
	require.NoError(t, first.Write(t.Context()))
	require.NoError(t, first.Close())
	require.NoError(t, second.RestartIfNeeded(t.Context(), nil)) // now it is free
	require.NoError(t, second.Write(t.Context()))
}

// Tasks of srun that do not know of each other: only one directory for all is wrong.
func TestTasksOverOneDirectory(t *testing.T) {
	dir := t.TempDir()
	x := 1
	task := func(rank int, dir string) *Checkpoint {
		for name, value := range map[string]string{"OMPI_COMM_WORLD_RANK": "", "OMPI_COMM_WORLD_SIZE": "", "PMI_RANK": "", "PMI_SIZE": "",
			"SLURM_PROCID": fmt.Sprint(rank), "SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"} {
			t.Setenv(name, value)
		}
		return open(t, dir, map[string]any{"x": &x}, func(o *options) {
			o.lock.Job = fmt.Sprint("job ", rank)
			o.fs = vfs.WithErrors(vfs.OS(), func(vfs.Op) error { return nil }) // passes for another process
		})
	}
	first := task(0, dir)
	require.NoError(t, first.Write(t.Context()))
	require.NoError(t, task(1, t.TempDir()).Write(t.Context()))
	second := task(1, dir)
	err := second.RestartIfNeeded(t.Context(), nil)
	require.ErrorIs(t, err, storage.ErrLocked)
	for _, text := range []string{"task 0 of 2", "task 1 of 2", "craft run -n 2", "communicator of a zone", "CRAFT_CP_PATH"} {
		require.ErrorContains(t, err, text)
	}
	require.NoError(t, first.Close())
	require.NoError(t, second.RestartIfNeeded(t.Context(), nil))
}

// Ranks of a job that open one directory without their communicator.
func TestRanksWithoutTheirCommunicator(t *testing.T) {
	dir := t.TempDir()
	x := 1
	t.Setenv(env.Role, env.RoleRank)
	rank := func(job string) *Checkpoint {
		return open(t, dir, map[string]any{"x": &x}, func(o *options) {
			o.lock.Job = job
			o.fs = vfs.WithErrors(vfs.OS(), func(vfs.Op) error { return nil }) // passes for another process
		})
	}
	require.NoError(t, rank("a").Write(t.Context()))
	err := rank("b").RestartIfNeeded(t.Context(), nil)
	require.ErrorIs(t, err, storage.ErrLocked)
	require.ErrorContains(t, err, "Zone.Comm")
}

// A program that goes on after a failed restart must not drive out the versions
// that it has not read.
func TestNothingIsWrittenAfterAFailedRestart(t *testing.T) {
	dir := t.TempDir()
	x, y := 1, 2.5
	store(t, dir, map[string]any{"x": &x})
	cp := open(t, dir, map[string]any{"x": &y})
	require.ErrorIs(t, cp.RestartIfNeeded(t.Context(), nil), ErrKey)
	for range 3 {
		err := cp.Write(t.Context())
		require.ErrorIs(t, err, ErrState)
		require.ErrorIs(t, err, ErrKey)
	}
	require.NoError(t, open(t, dir, map[string]any{"x": &x}).RestartIfNeeded(t.Context(), nil))
}
