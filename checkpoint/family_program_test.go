package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// cells is what the variables of a program hold: a slice, a map, a pointer.
type cells[V any] struct {
	clone func(V) V
	at    func(V, int) int
	put   func(V, int, int)
}

// entwined is a program of two loops whose variables may hold the same memory: prev of
// the outer one and x of the inner one.
type entwined[V any] struct {
	cells[V]
	zero V
	// atStart: prev and x share memory when the program begins. begin is how x gets what
	// prev holds at the beginning of a stage, step how x changes, end how prev gets what x
	// holds at the end of a stage: sharing its memory, a clone, in place.
	atStart          bool
	begin, step, end int
	both             int // bit 0: x is in the outer checkpoint, too, bit 1: prev in the inner one
	freq             [2]int
}

const (
	sharing_ = iota
	cloned
	inPlace_
)

// counts: the program makes all memory shared that it counts on, before it restarts.
func (p entwined[V]) counts() bool {
	return p.atStart || p.begin != inPlace_ || p.end != sharing_
}

// give is how one variable gets what another one holds.
func (p entwined[V]) give(to *V, from V, how int) {
	switch how {
	case sharing_:
		*to = from
	case cloned:
		*to = p.clone(from)
	default:
		for i := range 3 {
			p.put(*to, i, p.at(from, i))
		}
	}
}

func (p entwined[V]) run(ctx context.Context, died func() error, opts ...Option) (result []int, err error) {
	x, prev, sums := p.clone(p.zero), p.clone(p.zero), []int{}
	if p.atStart {
		prev = x
	}
	outer, err1 := New("outer", nil, opts...)
	inner, err2 := New("inner", nil, opts...)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, inner.Close(), outer.Close()) }()
	err = errors.Join(outer.Add("prev", &prev), outer.Add("sums", &sums, Resizable()), inner.Add("x", &x))
	if p.both&1 != 0 {
		err = errors.Join(err, outer.Add("x", &x))
	}
	if p.both&2 != 0 {
		err = errors.Join(err, inner.Add("prev", &prev))
	}
	if err := errors.Join(err, outer.Commit(), inner.Commit(), outer.SubCP(inner)); err != nil {
		return nil, err
	}
	stage := 0
	if err := outer.RestartIfNeeded(ctx, &stage); err != nil {
		return nil, err
	}
	for ; stage < 4; stage++ {
		p.give(&x, prev, p.begin)
		i := 0
		if err := inner.RestartIfNeeded(ctx, &i); err != nil {
			return nil, err
		}
		for ; i < 4; i++ {
			if p.step == cloned {
				x = p.clone(x)
			}
			p.put(x, i%3, 3*p.at(x, i%3)+p.at(prev, (i+1)%3)+stage+i)
			if err := errors.Join(inner.UpdateAndWrite(ctx, i, p.freq[1]), died()); err != nil {
				return nil, err
			}
		}
		p.give(&prev, x, p.end)
		sums = append(sums, p.at(prev, 0)+p.at(x, 1)+p.at(prev, 2))
		if err := errors.Join(outer.UpdateAndWrite(ctx, stage, p.freq[0]), died()); err != nil {
			return nil, err
		}
	}
	return sums, outer.Wait(ctx)
}

// deaths lets the program die after each of its calls, and compares what it ends with.
func (p entwined[V]) deaths(t *testing.T) {
	want, err := p.run(t.Context(), func() error { return nil }, WithPath("/cp"), withFS(vfs.NewMem()), WithLogger(quietly))
	require.NoError(t, err)
	for _, mode := range []string{"off", "copy"} {
		for death := 1; ; death++ {
			disk, calls := vfs.NewMem(), 0
			opts := func(disk vfs.FS) []Option {
				return []Option{WithPath("/cp"), withFS(disk), inMode(mode), WithLogger(quietly)}
			}
			_, err := p.run(t.Context(), func() error {
				if calls++; calls == death {
					return errDead
				}
				return nil
			}, opts(disk)...)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, errDead)
			got, err := p.run(t.Context(), func() error { return nil }, opts(disk)...)
			require.NoError(t, err, "%s, death %d", mode, death)
			require.Equal(t, want, got, "%s, death %d", mode, death)
		}
	}
}

type namedTest struct {
	name string
	run  func(t *testing.T)
}

func everyProgram[V any](kind string, zero V, c cells[V]) (all []namedTest) {
	for _, atStart := range []bool{false, true} {
		for choice := range 3 * 2 * 3 {
			p := entwined[V]{cells: c, zero: zero, atStart: atStart, begin: choice % 3, step: 1 + choice/3%2, end: choice / 6, freq: [2]int{1, 1 + choice%2}}
			if !p.counts() {
				continue
			}
			for p.both = range 4 {
				all = append(all, namedTest{fmt.Sprintf("%s/%v,%d,%d,%d,%d", kind, atStart, p.begin, p.step, p.end, p.both), p.deaths})
			}
		}
	}
	return all
}

// Programs of two loops that share memory between outer and inner variables, in all ways
// that a program can make so again before it restarts, end with what they end with
// undisturbed, wherever they die.
func TestSharedMemoryOfNestedLoops(t *testing.T) {
	programs := everyProgram("slices", []int{1, 2, 3}, cells[[]int]{
		slices.Clone[[]int],
		func(v []int, i int) int { return v[i] },
		func(v []int, i, x int) { v[i] = x },
	})
	programs = append(programs, everyProgram("maps", map[int]int{0: 1, 1: 2, 2: 3}, cells[map[int]int]{
		maps.Clone[map[int]int],
		func(v map[int]int, i int) int { return v[i] },
		func(v map[int]int, i, x int) { v[i] = x },
	})...)
	type body struct{ At []int }
	programs = append(programs, everyProgram("pointers", &body{[]int{1, 2, 3}}, cells[*body]{
		func(v *body) *body { return &body{slices.Clone(v.At)} },
		func(v *body, i int) int { return v.At[i] },
		func(v *body, i, x int) { v.At[i] = x },
	})...)
	for _, p := range sample(t, programs, 48) {
		t.Run(p.name, p.run)
	}
}
