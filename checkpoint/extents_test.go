package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

type bodies struct {
	Masses []float64
	Names  map[string]int
	Inner  *struct{ Cells [][]int }
}

// sized makes values of a problem of size n, in every form whose extent a restart
// would take from what is stored.
func sized(n int) map[string]any {
	x, names, all := make([]float64, n), make([]string, n), make([]bodies, n)
	rows, ragged := make([][]float32, n), make([][]int, n)
	for i := range n {
		rows[i], ragged[i] = make([]float32, 3), make([]int, i)
	}
	parts := make([]complex128, n)
	b := bodies{Masses: make([]float64, n), Names: map[string]int{fmt.Sprint(n): n}, Inner: &struct{ Cells [][]int }{ragged}}
	return map[string]any{
		"slice": &x, "strings": &names, "structs": &all, "struct": &b, "pointer": &b.Inner, "rows": &rows, "ragged": &ragged,
		"replicated": cptypes.Replicated(&parts),
	}
}

// A problem of another size is not restored in silence, in no mode.
func TestAnotherSizeIsRefused(t *testing.T) {
	for _, mode := range []string{"off", "copy", "zero-copy"} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			store(t, dir, sized(4), inMode(mode))
			restart := func(values map[string]any) error {
				cp := open(t, dir, values)
				return errors.Join(cp.RestartIfNeeded(t.Context(), nil), cp.Close())
			}
			require.NoError(t, restart(sized(4)), "of the same size")
			for key, mine := range sized(7) {
				values := sized(4)
				values[key] = mine
				err := restart(values)
				var named *KeyError
				require.ErrorAs(t, err, &named)
				require.Equal(t, key, named.Key)
				require.ErrorIs(t, err, cptypes.ErrMismatch)
				for _, text := range []string{"4", "7", "Resizable", "WithFingerprint", "empty"} {
					require.ErrorContains(t, err, text, key)
				}
				v, err := cptypes.Of(mine)
				require.NoError(t, err)
				require.Contains(t, fmt.Sprint(cptypes.ExtentsOf(v)), "7", "it was changed")
				values = sized(4)
				values[key] = sized(0)[key] // takes what is stored
				require.NoError(t, restart(values), key)
			}
		})
	}
}

func TestFieldOfAnotherSize(t *testing.T) {
	dir := t.TempDir()
	store(t, dir, map[string]any{"b": &bodies{Masses: make([]float64, 3), Inner: &struct{ Cells [][]int }{make([][]int, 5)}}})
	b := bodies{Masses: make([]float64, 3), Inner: &struct{ Cells [][]int }{make([][]int, 6)}}
	err := open(t, dir, map[string]any{"b": &b}).RestartIfNeeded(t.Context(), nil)
	require.ErrorContains(t, err, "its field Inner.Cells had kept the extent that it had at Commit, 5, and now it has 6")
}

// Values that say that they may change their extent, that have changed it, or that
// are of an array that takes any, are restored as they were.
func TestExtentsThatMayChange(t *testing.T) {
	dir := t.TempDir()
	restart := func(n int, opts ...AddOption) (*Checkpoint, *[]int, error) {
		x := make([]int, n)
		cp, err := New("test", nil, WithPath(dir))
		require.NoError(t, err)
		require.NoError(t, cp.Add("x", &x, opts...))
		require.NoError(t, cp.Commit())
		t.Cleanup(func() { require.NoError(t, cp.Close()) })
		return cp, &x, cp.RestartIfNeeded(t.Context(), nil)
	}
	write := func(cp *Checkpoint) {
		require.NoError(t, cp.Write(t.Context()))
		require.NoError(t, cp.Close())
	}
	cp, _, err := restart(5)
	require.NoError(t, err)
	write(cp)
	cp, x, err := restart(6, Resizable())
	require.NoError(t, err)
	require.Len(t, *x, 5)
	write(cp) // without a statement
	cp, _, err = restart(7)
	require.NoError(t, err)
	require.NoError(t, cp.Close())

	dir = t.TempDir()
	cp, x, err = restart(1)
	require.NoError(t, err)
	*x = append(*x, 2)
	write(cp)
	cp, x, err = restart(3)
	require.NoError(t, err)
	require.Len(t, *x, 2)
	// It has grown before, so that it is as long as at Commit by chance.
	*x = append(*x, 3)
	write(cp)
	_, x, err = restart(8)
	require.NoError(t, err)
	require.Len(t, *x, 3)
}

// At a recovery the survivors' values are as large as they have become.
func TestRecoveryTakesAnyExtent(t *testing.T) {
	dir := t.TempDir()
	job, c := newMember(0, 0)
	make1 := func(n int) (*Checkpoint, *[]int) {
		x := make([]int, n)
		cp, err := New("test", c, WithPath(dir))
		require.NoError(t, err)
		require.NoError(t, cp.Add("x", &x))
		require.NoError(t, cp.Commit())
		t.Cleanup(func() { require.NoError(t, cp.Close()) })
		return cp, &x
	}
	cp, x := make1(5)
	require.NoError(t, cp.Write(t.Context()))
	*x = append(*x, 6)
	_, err := job.session.Zone().Repair(t.Context(), comm.Policy{})
	require.NoError(t, err)
	job.release(t)
	cp, x = make1(6)
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.Len(t, *x, 5)
	*x = append(*x, 6) // as long as at the Commit of the recovery
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, cp.Close())
	_, c = newMember(0, 0) // another job
	cp, x = make1(2)
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	require.Len(t, *x, 6)
}

// Of a partitioned value the global extent counts, on every number of ranks.
func TestAnotherGlobalExtentIsRefused(t *testing.T) {
	dir := t.TempDir()
	run := func(ranks, n int) error {
		return afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
			lo, hi := int(c.Rank())*n/c.Size(), (int(c.Rank())+1)*n/c.Size()
			x, all := make([]int64, hi-lo), make([]float64, n)
			cp, err := New("test", c, WithPath(dir))
			if err != nil {
				return err
			}
			defer cp.Close()
			_ = cp.Add("x", cptypes.Partitioned(&x, lo, hi, n))
			_ = cp.Add("all", cptypes.Replicated(&all))
			if err := cp.Commit(); err != nil {
				return err
			}
			if err := cp.RestartIfNeeded(ctx, nil); err != nil {
				return err
			}
			return cp.Write(ctx)
		})
	}
	require.NoError(t, run(3, 12))
	require.NoError(t, run(2, 12))
	require.ErrorIs(t, run(2, 13), cptypes.ErrMismatch)
	require.ErrorIs(t, run(5, 13), cptypes.ErrMismatch)
	require.NoError(t, run(5, 12))
}

// More values than a header has room for: those that fit are there.
func TestManyExtents(t *testing.T) {
	ofData(t)
	dir := t.TempDir()
	values := func(n int) map[string]any {
		out := make(map[string]any)
		for i := range 12_000 {
			x := make([]int8, n)
			out[fmt.Sprintf("a value with quite a long key %d", i)] = &x
		}
		return out
	}
	store(t, dir, values(2))
	err := open(t, dir, values(3)).RestartIfNeeded(t.Context(), nil)
	require.ErrorContains(t, err, "another size")
}

func TestDamagedExtents(t *testing.T) {
	cp := open(t, t.TempDir(), map[string]any{"x": &[]int{1}})
	var h container.Header
	require.NoError(t, cp.reg.stateExtents(&h))
	data, ok := h.Fields.Get(container.FieldExtents)
	require.True(t, ok)
	require.JSONEq(t, `[{"k":"x","n":[1]}]`, string(data))
	for _, bad := range []string{"", "{", `{"k":1}`, `[{"k":"x","n":["a"]}]`} {
		_, err := parseExtents(container.Header{Fields: container.Fields{{ID: container.FieldExtents, Data: []byte(bad)}}})
		require.ErrorIs(t, err, container.ErrDamaged, bad)
	}
	stored, err := parseExtents(container.Header{})
	require.NoError(t, err)
	require.Nil(t, stored)
}
