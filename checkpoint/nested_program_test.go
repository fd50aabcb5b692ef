package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
)

// nest is a program of an outer and an inner loop, as in the paper's Listing 7,
// with a loop in between if it is three deep. The inner state starts afresh in
// every stage, and its result goes into the outer one.
type nest struct {
	c     *comm.Comm
	loops []loop // outermost first
	// stop is asked after every step of the innermost loop and after every
	// UpdateAndWrite; its error ends the program on the spot.
	stop func(what string, at []int) error

	taken []int // iteration at which each loop was taken up first, -1: from zero
}

type loop struct {
	n, freq int
	iter    int
	state   []float64 // replicated
	cp      *Checkpoint
}

func newNest(c *comm.Comm, levels []loop, opts ...Option) (*nest, error) {
	s := &nest{c: c, loops: levels, taken: make([]int, len(levels))}
	for i := range s.loops {
		l := &s.loops[i]
		s.taken[i] = -1
		l.state = make([]float64, 50)
		var err error
		if l.cp, err = New(fmt.Sprint("level", i), c, opts...); err != nil {
			return nil, err
		}
		if err := errors.Join(l.cp.Add("state", cptypes.Replicated(&l.state)), l.cp.Commit()); err != nil {
			return nil, err
		}
		if i > 0 {
			if err := s.loops[i-1].cp.SubCP(l.cp); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (s *nest) close() error {
	var err error
	for i := len(s.loops) - 1; i >= 0; i-- {
		err = errors.Join(err, s.loops[i].cp.Close())
	}
	return err
}

// run is loop i with everything in it.
func (s *nest) run(ctx context.Context, i int) error {
	l := &s.loops[i]
	iter, before := 0, l.cp.Stats().Restored
	if err := l.cp.RestartIfNeeded(ctx, &iter); err != nil {
		return err
	}
	if !before && l.cp.Stats().Restored {
		s.taken[i] = iter - 1
	}
	for l.iter = iter; l.iter < l.n; l.iter++ {
		if err := s.stage(ctx, i); err != nil {
			return err
		}
		if err := l.cp.UpdateAndWrite(ctx, l.iter, l.freq); err != nil {
			return err
		}
		if err := s.ask("written", i); err != nil {
			return err
		}
	}
	return nil
}

// stage is one iteration of loop i. A restart in it finds the state as the last
// iteration left it.
func (s *nest) stage(ctx context.Context, i int) error {
	l := &s.loops[i]
	// Zero-copy: nothing that is being written may change.
	if err := l.cp.Wait(ctx); l.cp.opt.mode() == AsyncZeroCopy && err != nil {
		return err
	}
	if i == len(s.loops)-1 {
		for k := range l.state {
			l.state[k] = l.state[k]*1.01 + float64(l.iter*(k+1))
		}
		return s.ask("step", i)
	}
	inner := &s.loops[i+1]
	if err := s.run(ctx, i+1); err != nil {
		return err
	}
	if err := errors.Join(l.cp.Wait(ctx), inner.cp.Wait(ctx)); err != nil {
		return err
	}
	for k := range l.state {
		l.state[k] = l.state[k]*0.9 + inner.state[k]*float64(l.iter+1)
	}
	clear(inner.state)
	return nil
}

func (s *nest) ask(what string, level int) error {
	if s.stop == nil {
		return nil
	}
	at := make([]int, level+1)
	for i := range at {
		at[i] = s.loops[i].iter
	}
	return s.stop(what, at)
}

// undisturbed is the outermost state at the end.
func undisturbed(levels []loop) []float64 {
	plain := make([]loop, len(levels))
	copy(plain, levels)
	s := &nest{loops: plain, taken: make([]int, len(levels))}
	for i := range s.loops {
		s.loops[i].state = make([]float64, 50)
		s.loops[i].cp = &Checkpoint{core: &core{}, meet: &meetings{}} // disabled: its calls do nothing
		s.loops[i].cp.self = s.loops[i].cp
	}
	if err := s.run(context.Background(), 0); err != nil {
		panic(err)
	}
	return s.loops[0].state
}

var errDead = errors.New("dead")

// nestedRun runs a nest to its end, or to where stop ends it, and returns what
// each loop was taken up from.
func nestedRun(t *testing.T, ranks int, levels []loop, stop func(rank comm.Rank) func(string, []int) error, opts ...Option) (taken []int, state []float64, err error) {
	t.Helper()
	err = afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		mine := make([]loop, len(levels))
		copy(mine, levels)
		s, err := newNest(c, mine, opts...)
		if err != nil {
			return err
		}
		defer s.close()
		if stop != nil {
			s.stop = stop(c.Rank())
		}
		err = s.run(ctx, 0)
		if c.Rank() == 0 {
			taken = s.taken
		}
		if err != nil {
			return err
		}
		if err := s.loops[0].cp.Wait(ctx); err != nil {
			return err
		}
		if c.Rank() == 0 {
			state = s.loops[0].state
		}
		return nil
	})
	return taken, state, err
}
