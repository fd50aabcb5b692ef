package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/testseed"
)

// nested puts one of the values into a parent's checkpoint and the others into that of
// its child, or the reverse. anew: the child is made when the parent has been restored.
type nested struct {
	alone   string
	child   bool // the one is in the child
	anew    bool
	parents bool // the parent has a version
	mode    string
}

func (n nested) String() string {
	return fmt.Sprintf("%s/%s/child=%v,anew=%v,parents=%v", n.mode, n.alone, n.child, n.anew, n.parents)
}

// open makes the checkpoints; the child's is made by the second call.
func (n nested) open(t *testing.T, dir string, v vars, log *slog.Logger) (parent *Checkpoint, child func() *Checkpoint) {
	t.Helper()
	make := func(name string, one bool) *Checkpoint {
		cp, err := New(name, nil, WithPath(dir), WithLogger(log), inMode(n.mode), WithCompression(CompressOff))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, cp.Close()) })
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if (key == n.alone) == one {
				require.NoError(t, cp.Add(key, v[key], Optional(), Resizable()))
			}
		}
		require.NoError(t, cp.Commit())
		return cp
	}
	parent = make("parent", !n.child)
	var made *Checkpoint
	child = func() *Checkpoint {
		if made == nil {
			made = make("child", n.child)
			require.NoError(t, parent.SubCP(made))
		}
		return made
	}
	if !n.anew {
		child()
	}
	return parent, child
}

// restart stores the values and restarts both.
func (n nested) restart(t *testing.T, a alias, log *slog.Logger) (error, error) {
	ctx, dir := t.Context(), t.TempDir()
	parent, child := n.open(t, dir, a.stored, log)
	require.NoError(t, parent.RestartIfNeeded(ctx, nil))
	if n.parents {
		require.NoError(t, parent.UpdateAndWrite(ctx, 0, 1))
	}
	c := child()
	require.NoError(t, c.RestartIfNeeded(ctx, nil))
	require.NoError(t, c.UpdateAndWrite(ctx, 0, 1))
	require.NoError(t, c.Close())
	require.NoError(t, parent.Close())

	parent, child = n.open(t, dir, a.now, log)
	if err := parent.RestartIfNeeded(ctx, nil); err != nil {
		return err, nil
	}
	require.Equal(t, n.parents, parent.Stats().Restored)
	c = child()
	err := c.RestartIfNeeded(ctx, nil)
	require.Equal(t, err == nil, c.Stats().Restored)
	return nil, err
}

// eachSplit runs a test for each way to divide values among a parent and a child.
func eachSplit(t *testing.T, all func() map[string]alias, test func(t *testing.T, n nested, a alias)) {
	type split struct {
		name string
		nested
	}
	var splits []split
	for name, a := range all() {
		for key := range a.stored {
			for i := range 8 {
				n := nested{alone: key, child: i&1 != 0, anew: i&2 != 0, parents: i&4 != 0, mode: modes[i%3]}
				notThere := n.anew && (len(a.stored) < len(a.now) || name == "columns") // what the parent's restart should keep
				if len(a.now) > 1 && !notThere {
					splits = append(splits, split{name, n})
				}
			}
		}
	}
	for _, s := range sample(t, splits, 4) {
		t.Run(s.name+"/"+s.String(), func(t *testing.T) { test(t, s.nested, all()[s.name]) })
	}
}

// What a parent and a child share is after a restart as within one checkpoint.
func TestSharedMemoryOfParentAndChild(t *testing.T) {
	t.Run("separate", func(t *testing.T) {
		eachSplit(t, separateOnes, func(t *testing.T, n nested, a alias) {
			first := a.initial(t)
			var log bytes.Buffer
			outer, inner := n.restart(t, a, slog.New(slog.NewTextHandler(&log, nil)))
			require.NoError(t, outer)
			require.NotContains(t, log.String(), "level=WARN")
			if inner != nil {
				require.ErrorIs(t, inner, cptypes.ErrShared)
				return
			}
			if n.parents {
				a.want(t)
				return
			}
			for key := range a.now { // the parent's are as they were
				if (key == n.alone) != n.child {
					require.Equal(t, first[key], a.initial(t)[key], key)
				}
			}
		})
	})
	t.Run("shared", func(t *testing.T) {
		eachSplit(t, sharedOnes, func(t *testing.T, n nested, a alias) {
			outer, inner := n.restart(t, a, quietly)
			require.NoError(t, outer)
			require.NoError(t, inner)
			if n.parents {
				a.want(t)
			}
		})
	})
}

var quietly = slog.New(slog.DiscardHandler)

// initial is what the values of the program hold.
func (a alias) initial(t *testing.T) map[string]string {
	out := make(map[string]string)
	for key, v := range a.now {
		value, err := cptypes.Of(v)
		require.NoError(t, err)
		var b bytes.Buffer
		_, err = value.WriteTo(&b)
		require.NoError(t, err)
		out[key] = b.String()
	}
	return out
}

// What cannot be put apart is refused with both keys and both names, before anything
// has changed.
func TestSharedMemoryOfParentAndChildIsRefused(t *testing.T) {
	type pointer struct{ P *int }
	for name, n := range map[string]nested{
		"one variable":   {alone: "a", parents: true},
		"made afterward": {alone: "a", parents: true, anew: true},
	} {
		t.Run(name, func(t *testing.T) {
			n.mode = "off"
			v := 7
			a := alias{stored: vars{"a": ptr(1), "b": ptr(2)}, now: vars{"a": &v, "b": &v}}
			if n.anew {
				a = alias{stored: vars{"a": &pointer{ptr(1)}, "b": ptr(2)}, now: vars{"a": &pointer{&v}, "b": &v}}
			}
			outer, err := n.restart(t, a, quietly)
			require.NoError(t, outer)
			require.ErrorIs(t, err, cptypes.ErrShared)
			require.ErrorIs(t, err, ErrKey)
			for _, part := range []string{`"a"`, `"b"`, `"parent"`, `"child"`} {
				require.ErrorContains(t, err, part)
			}
			var undefined *UndefinedError
			require.NotErrorAs(t, err, &undefined)
			require.Equal(t, 1, v, "as the parent has read it")
		})
	}
}

// A child whose version holds an empty slice does not empty that of its parent.
func TestEmptySliceOfAChild(t *testing.T) {
	n, x := nested{alone: "a", parents: true, anew: true, mode: "off"}, []int{7}
	p := &x
	outer, inner := n.restart(t, alias{stored: vars{"a": ptr(&[]int{1, 2}), "b": &[]int{}}, now: vars{"a": &p, "b": &x}}, quietly)
	require.NoError(t, outer)
	require.ErrorIs(t, inner, cptypes.ErrShared)
	require.Equal(t, []int{1, 2}, *p)
}

// A key that the parent has learned since, for a variable that the child has, is no
// reason to refuse anything.
func TestVariableThatTheParentHasLearned(t *testing.T) {
	n, x := nested{alone: "a", parents: true, mode: "off"}, []int{0}
	outer, inner := n.restart(t, alias{stored: vars{"b": &[]int{5, 6}}, now: vars{"a": &x, "b": &x}}, quietly)
	require.NoError(t, errors.Join(outer, inner))
	require.Equal(t, []int{5, 6}, x)
}

// A struct of more parts than are looked at for each version leaves it unknown what lay
// in the same memory: that stays as it is, with a warning.
func TestSharedMemoryThatWasNotLookedAt(t *testing.T) {
	type node struct {
		X    int
		Next *node
	}
	long := func(first []int) *struct {
		Head *node
		X    []int
	} {
		var head *node
		for i := range 5000 {
			head = &node{i, head}
		}
		return &struct {
			Head *node
			X    []int
		}{head, first}
	}
	for _, n := range []nested{{alone: "a", parents: true, mode: "off"}, {alone: "a", mode: "off"}} {
		x := []int{1}
		var log bytes.Buffer
		outer, inner := n.restart(t, alias{stored: vars{"a": long([]int{2}), "b": &[]int{3}}, now: vars{"a": long(x), "b": &x}},
			slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, errors.Join(outer, inner))
		require.Equal(t, []int{3}, x)
		require.Equal(t, !n.parents, strings.Contains(log.String(), "level=WARN"), log.String())
	}
}

// Children of one parent: what the one reads is not read over what the other one has.
func TestSharedMemoryOfSiblings(t *testing.T) {
	for _, shared := range []bool{false, true} {
		ctx, dir := t.Context(), t.TempDir()
		run := func(x, y *[]int) (parent, first, second *Checkpoint) {
			make := func(name string, v vars) *Checkpoint {
				cp, err := New(name, nil, WithPath(dir), WithLogger(quietly))
				require.NoError(t, err)
				for key, x := range v {
					require.NoError(t, cp.Add(key, x))
				}
				require.NoError(t, cp.Commit())
				return cp
			}
			parent, first, second = make("parent", vars{}), make("first", vars{"x": x}), make("second", vars{"y": y})
			require.NoError(t, errors.Join(parent.SubCP(first), parent.SubCP(second), parent.RestartIfNeeded(ctx, nil),
				first.RestartIfNeeded(ctx, nil), second.RestartIfNeeded(ctx, nil)))
			return parent, first, second
		}
		x, y := []int{1, 2}, []int{3, 4}
		if shared {
			y = x
		}
		want := [][]int{slices.Clone(x), slices.Clone(y)}
		parent, first, second := run(&x, &y)
		require.NoError(t, errors.Join(first.UpdateAndWrite(ctx, 0, 1), second.UpdateAndWrite(ctx, 0, 1),
			first.Close(), second.Close(), parent.Close()))
		x = []int{0, 0}
		y = x
		parent, first, second = run(&x, &y)
		require.NoError(t, errors.Join(first.Close(), second.Close(), parent.Close()))
		require.Equal(t, want, [][]int{x, y})
		require.Equal(t, shared, &x[0] == &y[0])
	}
}

// The newest version of the child, which shared memory with its parent, is damaged; the
// one before did not: nothing of the newest one stays.
func TestSharedMemoryAndDamage(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	n := nested{alone: "prev", parents: true, mode: "off"}
	x, line := someArray(), []string{"first"}
	prev := x
	parent, child := n.open(t, dir, vars{"prev": &prev, "x": &x, "line": &line}, quietly)
	c := child()
	require.NoError(t, errors.Join(parent.RestartIfNeeded(ctx, nil), parent.UpdateAndWrite(ctx, 0, 1), c.RestartIfNeeded(ctx, nil)))
	x = someArray()
	x[0] = 1
	require.NoError(t, c.UpdateAndWrite(ctx, 0, 1))
	x, line[0] = prev, aLine
	x[1] = 5
	require.NoError(t, c.UpdateAndWrite(ctx, 1, 1))
	require.NoError(t, errors.Join(c.Close(), parent.Close()))
	parts := glob(t, filepath.Join(dir, "child", "v-000002-*", "rank-*"))
	require.Len(t, parts, 1)
	data, err := os.ReadFile(parts[0])
	require.NoError(t, err)
	at := bytes.Index(data, []byte(aLine))
	require.Positive(t, at)
	data[at] ^= 1
	require.NoError(t, os.WriteFile(parts[0], data, 0o600))

	x = make([]uint64, 3000)
	prev = x
	parent, child = n.open(t, dir, vars{"prev": &prev, "x": &x, "line": &line}, quietly)
	c = child()
	require.NoError(t, errors.Join(parent.RestartIfNeeded(ctx, nil), c.RestartIfNeeded(ctx, nil)))
	require.Equal(t, uint64(1), c.Stats().RestoredVersion)
	want := someArray()
	require.Equal(t, want, prev)
	want[0] = 1
	require.Equal(t, want, x)
}

func TestFamilySurvivesDamage(t *testing.T) {
	rng := testseed.Rand(t)
	for range 3000 {
		b := make([]byte, rng.IntN(30))
		for i := range b {
			b[i] = byte(rng.IntN(5))
		}
		parseFamily(b)
	}
	require.Nil(t, parseFamily([]byte{200, 1}))
	require.Equal(t, kinship{"a": {{"x", "y"}: true}}, parseFamily([]byte("\x01a\x01\x01x\x01y")))
}
