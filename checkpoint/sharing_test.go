package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/container"
)

type (
	counter struct{ N int }
	// vectors are of the kinds that a restart reads where they are, or may do so.
	vectors struct {
		P, Q *mat.VecDense
		U, V mat.VecDense
		S, T *inPlace
		A, B *holding
	}
	holding struct {
		V   mat.VecDense
		Own inPlace
	}
	// meshes point to what is made in the first step.
	meshes struct {
		Cur, Prev *mesh
		Base      mesh
		All       [2]mesh
		One       *mesh
	}
	mesh struct {
		Halo  *[2]int
		Sums  map[string]int
		M     *mat.Dense
		Large []int64
	}
	// turns holds the buffers that are current, of two variables.
	turns        struct{ Cur, Prev *[]int }
	matrixAndRow struct {
		Row *mat.VecDense
		M   *mat.Dense
	}
)

// inPlace is a type of the program's own that keeps its memory when it is read.
type inPlace struct{ x []byte }

func (p *inPlace) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(p.x)
	return int64(n), err
}

func (p *inPlace) ReadFrom(r io.Reader) (int64, error) {
	b, err := io.ReadAll(r)
	if len(p.x) != len(b) {
		p.x = make([]byte, len(b))
	}
	copy(p.x, b)
	return int64(len(b)), err
}

// vectorsOf have first in the one and second in the other of each two.
func vectorsOf(first, second float64) *vectors {
	vec := func(x float64) *mat.VecDense { return mat.NewVecDense(2, []float64{x, x}) }
	own := func(x float64) *inPlace { return &inPlace{[]byte{byte(x)}} }
	hold := func(x float64) *holding { return &holding{*vec(x), *own(x)} }
	return &vectors{vec(first), vec(second), *vec(first), *vec(second), own(first), own(second), hold(first), hold(second)}
}

func (v *vectors) firsts() []float64 {
	return []float64{v.P.AtVec(1), v.U.AtVec(1), float64(v.S.x[0]), v.A.V.AtVec(1), float64(v.A.Own.x[0])}
}

func (v *vectors) seconds() []float64 {
	return []float64{v.Q.AtVec(1), v.V.AtVec(1), float64(v.T.x[0]), v.B.V.AtVec(1), float64(v.B.Own.x[0])}
}

func meshOf(x int) *mesh {
	large := make([]int64, 9000)
	large[0] = int64(x)
	return &mesh{&[2]int{x, x}, map[string]int{"x": x}, mat.NewDense(1, 1, []float64{float64(x)}), large}
}

func meshesOf(x int) *meshes {
	return &meshes{meshOf(x), meshOf(x + 1), *meshOf(x + 2), [2]mesh{*meshOf(x + 3), *meshOf(x + 4)}, meshOf(x + 5)}
}

// alias is what is stored, and what a program that is restarted has.
type alias struct {
	stored, now vars
	want        func(t require.TestingT)
}

// restart restarts from what is stored, in a mode.
func (a alias) restart(t *testing.T, mode string, opts ...Option) error {
	dir := t.TempDir()
	cp := a.stored.checkpoint(t, nil, dir, inMode(mode))
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, cp.Close())
	cp = a.now.checkpoint(t, nil, dir, append(opts, inMode(mode))...)
	defer cp.Close()
	return cp.RestartIfNeeded(t.Context(), nil)
}

func TestSharedMemory(t *testing.T) {
	for _, mode := range modes {
		for group, all := range map[string]func() map[string]alias{"separate": separateOnes, "shared": sharedOnes} {
			for _, name := range sample(t, slices.Sorted(maps.Keys(all())), 1) {
				t.Run(mode+"/"+group+"/"+name, func(t *testing.T) {
					a := all()[name]
					require.NoError(t, a.restart(t, mode))
					a.want(t)
				})
			}
		}
	}
}

// What cannot be put apart and was stored with different contents is refused.
func TestSharedMemoryIsRefused(t *testing.T) {
	n, array := 1, [4]int{}
	one, x := []int{1, 2, 3}, []int{1, 2, 3}
	y0 := []int{4, 5, 6}
	half := x[1:]
	j := &journal{}
	for name, a := range map[string]alias{
		"one variable":  {stored: vars{"a": ptr(1), "b": ptr(2)}, now: vars{"a": &n, "b": &n}},
		"one slice":     {stored: vars{"a": &[]int{1}, "b": &[]int{1, 2}}, now: vars{"a": &one, "b": &one}},
		"array":         {stored: vars{"a": &[4]int{1, 2, 3, 4}, "b": ptr(7)}, now: vars{"a": &array, "b": &array[2]}},
		"shared before": {stored: vars{"a": &y0, "b": ptr(y0[:2])}, now: vars{"a": &x, "b": &half}},
		"own type":      {stored: vars{"a": &journal{[]byte("1")}, "b": &journal{[]byte("2")}}, now: vars{"a": j, "b": j}},
	} {
		t.Run(name, func(t *testing.T) {
			err := a.restart(t, "off")
			require.ErrorIs(t, err, cptypes.ErrShared)
			require.ErrorIs(t, err, ErrKey)
			require.ErrorContains(t, err, `"a"`)
			require.ErrorContains(t, err, `"b"`)
		})
	}
}

type (
	buffers struct {
		Steps int
		A, B  buffer
		Now   *buffer
	}
	buffer struct{ V [4]int }
)

// Parts of one value lay in the same memory when it was stored, and lie so at the restart,
// but not the same parts.
func TestSharedWithinAValue(t *testing.T) {
	blank := func(swapped bool) *buffers {
		b := &buffers{}
		b.Now = &b.A
		if swapped {
			b.Now = &b.B
		}
		return b
	}
	value := func(swapped bool) *buffers {
		b := blank(swapped)
		b.A, b.B = buffer{[4]int{1, 2, 3, 4}}, buffer{[4]int{5, 6, 7, 8}}
		return b
	}
	rows := func(first, second, third int) *[][]int {
		of := [][]int{{1, 1}, {2, 2}}
		return &[][]int{of[first], of[second], of[third]}
	}
	for name, a := range map[string]struct {
		stored any
		now    func() any
		parted bool
	}{
		"as before":      {stored: value(true), now: func() any { return blank(true) }},
		"double buffer":  {stored: value(true), now: func() any { return blank(false) }, parted: true},
		"rows as before": {stored: rows(0, 1, 1), now: func() any { return rows(1, 0, 0) }},
		"other rows":     {stored: rows(0, 0, 1), now: func() any { return rows(0, 1, 1) }, parted: true},
		"one template":   {stored: rows(0, 1, 0), now: func() any { return rows(1, 1, 1) }, parted: true},
	} {
		for _, mode := range modes {
			t.Run(name+"/"+mode, func(t *testing.T) {
				var log strings.Builder
				now := a.now()
				try := alias{stored: vars{"v": a.stored}, now: vars{"v": now}}
				require.NoError(t, try.restart(t, mode, WithLogger(slog.New(slog.NewTextHandler(&log, nil)))))
				require.Equal(t, a.stored, now)
				require.Equal(t, a.parted, strings.Contains(log.String(), "each part with memory of its own"), log.String())
			})
		}
	}
	t.Run("one field more", func(t *testing.T) {
		type more struct {
			Steps int
			A, B  buffer
			Now   *buffer
			Extra float64
		}
		now := &more{}
		now.Now = &now.A
		require.NoError(t, alias{stored: vars{"v": value(false)}, now: vars{"v": now}}.restart(t, "off"))
		want := value(false)
		require.Equal(t, &more{A: want.A, B: want.B, Now: want.Now}, now)
	})
	t.Run("a nil pointer", func(t *testing.T) {
		now := &buffers{}
		require.NoError(t, alias{stored: vars{"v": value(true)}, now: vars{"v": now}}.restart(t, "off"))
		require.Equal(t, value(true), now)
	})
}

// All distributions, on the same and on other numbers of ranks.
func TestSharedMemoryOfSeveralRanks(t *testing.T) {
	type value func(x *[]int, c *comm.Comm) cptypes.Value
	kinds := map[string]value{
		"replicated":       func(x *[]int, _ *comm.Comm) cptypes.Value { return cptypes.Replicated(x) },
		"large replicated": func(x *[]int, _ *comm.Comm) cptypes.Value { return cptypes.Replicated(x) },
		"partitioned": func(x *[]int, c *comm.Comm) cptypes.Value {
			lo, hi := 12*int(c.Rank())/c.Size(), 12*(int(c.Rank())+1)/c.Size()
			if *x != nil {
				*x = (*x)[lo:hi]
			}
			return cptypes.Partitioned(x, lo, hi, 12)
		},
	}
	for kind, wrap := range kinds {
		n := 12
		if kind == "large replicated" {
			n = 20000
		}
		of := func(first int) []int {
			x := make([]int, n)
			for i := range x {
				x[i] = first + i
			}
			return x
		}
		for _, ranks := range []int{2, 3} {
			for _, shared := range []bool{false, true} {
				t.Run(fmt.Sprint(kind, "/", ranks, "/", shared), func(t *testing.T) {
					dir := t.TempDir()
					values := func(c *comm.Comm, x, prev *[]int) vars {
						a := wrap(x, c)
						return vars{"x": a, "prev": wrap(prev, c)}
					}
					require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
						x := of(100)
						prev := of(200)
						if shared {
							prev = x
						}
						cp := values(c, &x, &prev).checkpoint(t, c, dir)
						return errors.Join(cp.Write(ctx), cp.Close())
					}))
					require.NoError(t, afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
						x := of(0)
						prev, wantX, wantPrev := x, of(100), of(200)
						if shared {
							wantPrev = of(100)
						}
						values(c, &wantX, &wantPrev) // cuts them
						cp := values(c, &x, &prev).checkpoint(t, c, dir)
						defer cp.Close()
						if err := cp.RestartIfNeeded(ctx, nil); err != nil {
							return err
						}
						require.Equal(t, wantX, x)
						require.Equal(t, wantPrev, prev)
						require.Equal(t, shared, &x[0] == &prev[0])
						return nil
					}))
				})
			}
		}
	}
}

// A file of values that do not overlap says nothing about it.
func TestNoSharingIsNotNoted(t *testing.T) {
	x, y := []int{1, 2, 3, 4}, 5
	cp := open(t, t.TempDir(), map[string]any{"a": ptr(x[:2]), "b": ptr(x[2:]), "y": &y})
	var h container.Header
	cp.reg.noteSharing(&h)
	require.Empty(t, h.Fields)
}

func TestSharingSurvivesDamage(t *testing.T) {
	all := groups([][2]int{{0, 1}, {2, 2}, {4, 5}, {6, 7}, {5, 6}, {1, 0}, {5, 7}})
	require.ElementsMatch(t, sharing{{0, 1}, {2}, {4, 5, 6, 7}}, decodeSharing(all.encode(nil)))
	rng := testseed.Rand(t)
	for range 1000 {
		b := make([]byte, rng.IntN(30))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		decodeSharing(b)
	}
}
