package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/kmeans/lloyd"
)

// state is what the algorithm knows beside the points. It is small, and each rank has
// all of it.
type state struct {
	next    int       // iteration
	centres []float64 // nil: not chosen
	copies  int       // of each block in the store
	spared  bool      // nobody is killed any more
}

// unknown is the next iteration of who begins.
const unknown = -1

// agree gives all ranks the state of one that is farthest: a failure may have come when
// some had ended an iteration and others had not, and replacements know nothing. It is
// collective.
func (s *state) agree(ctx context.Context, z *aft.Zone, copies int) error {
	c := z.Comm()
	known := []int{s.next, s.copies, 0}
	if s.spared {
		known[2] = 1
	}
	if err := comm.Allreduce(ctx, c, known, known, comm.Max); err != nil {
		return err
	}
	next := known[0]
	s.copies = cmp.Or(known[1], min(copies, c.Size()))
	// If nobody knows anything after a failure all have been killed: once will do.
	s.spared = known[2] == 1 || next == unknown && z.Epoch() > 0
	if next <= 0 {
		s.next, s.centres = 0, nil // some may have chosen theirs, and others not
		return nil
	}
	root := comm.Rank(c.Size())
	if s.next == next {
		root = c.Rank()
	}
	root, err := comm.AllreduceOne(ctx, c, root, comm.Min)
	if err != nil {
		return err
	}
	bytes := make([]byte, 8*len(s.centres))
	encode(bytes, s.centres)
	if bytes, err = comm.BcastBytes(ctx, c, root, bytes); err != nil {
		return err
	}
	s.next, s.centres = next, make([]float64, len(bytes)/8)
	decode(s.centres, bytes)
	return nil
}

// choose makes some of the points, at random, the first centres. It is collective.
func (w *worker) choose(ctx context.Context, c *comm.Comm) error {
	p := &w.points
	if int64(w.centres) > p.total {
		return fmt.Errorf("-centres %d: there are no more than %d points", w.centres, p.total)
	}
	rng := rand.New(rand.NewPCG(w.generated.Seed, 0))
	chosen := make(map[int64]bool)
	centres := make([]float64, w.centres*p.dim)
	for len(chosen) < w.centres {
		i := rng.Int64N(p.total)
		if chosen[i] {
			continue
		}
		if block := p.block(i / lloyd.BlockPoints); block != nil {
			at := int(i%lloyd.BlockPoints) * p.dim
			copy(centres[len(chosen)*p.dim:], block[at:at+p.dim])
		}
		chosen[i] = true
	}
	// One rank has each of them; the others add zero.
	if err := comm.Allreduce(ctx, c, centres, centres, comm.Sum); err != nil {
		return err
	}
	w.state.centres = centres
	return nil
}
