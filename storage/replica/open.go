package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/offheap"
)

// key is what the session keeps a store under.
type key struct{ name string }

// Open returns the store of a name among the ranks of c. It is collective, and called at the beginning of
// each attempt: the first time it makes the store; after a recovery, those who have survived find
// their blocks in it, and those who have replaced others join. The store belongs to the
// session of c, which closes it at the end.
//
// The error matches ErrOptions on all ranks if what one of them has given cannot be.
func Open(ctx context.Context, c *comm.Comm, name string, o Options) (*Store, error) {
	given := o.check()
	o = o.withDefaults()
	s, err := comm.Keep(c.Session(), key{name}, func() (*Store, error) {
		return &Store{name: name, mem: new(memory), closed: true}, nil
	})
	if err != nil {
		return nil, err
	}
	s.life.Lock()
	defer s.life.Unlock()
	s.release(ErrUnbound)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.closed, s.met, s.number, s.incarnation = false, false, 0, rand.Uint64()>>1|1
	}
	if !s.met { // those of a call that was refused do not count
		s.options = o
	}
	if given == nil && s.options.digest() != o.digest() {
		given = fmt.Errorf("%w: store %q was opened with other ones before", ErrOptions, s.name)
	}
	s.options.Limit, s.options.NoDirect, s.options.Log = o.Limit, o.NoDirect, o.Log
	if err := s.meet(ctx, c, o, given); err != nil {
		return nil, err
	}
	return s, nil
}

// What the ranks tell each other when they meet.
const (
	introOriginal = iota
	introIncarnation
	introOptions
	introName
	introBad
	introMet     // 1: the store has met others before
	introNumber  // of the last version that was begun
	introCurrent // the number of the present version; 0: none
	introNext
	introSteps // of the history of the present version
	introVicinity
	introProcess
	introductions
)

// meet finds out who is there, and what of the store.
func (s *Store) meet(ctx context.Context, c *comm.Comm, o Options, given error) error {
	met, err := s.introduce(ctx, c, o, given)
	if err != nil {
		return err
	}
	if err := met.disagreement(); err != nil {
		return cmp.Or(given, err)
	}
	places, err := s.place(c, met)
	if err != nil {
		return err
	}
	own, err := c.Dup(ctx, comm.Lasting(), comm.WithName("replica "+s.name))
	if err != nil {
		return err
	}
	if err := s.resume(ctx, own, met); err != nil {
		own.Free()
		return err
	}
	s.bind(binding{own, c}, met, places)
	return nil
}

// meeting is what all ranks have said.
type meeting [][]int64

func (s *Store) introduce(ctx context.Context, c *comm.Comm, o Options, given error) (meeting, error) {
	mine := make([]int64, introductions)
	mine[introOriginal] = int64(original(c))
	mine[introIncarnation] = int64(s.incarnation)
	mine[introOptions], mine[introName] = o.digest(), digest(s.name)
	if given != nil {
		mine[introBad] = 1
	}
	if s.met {
		mine[introMet] = 1
	}
	mine[introNumber] = int64(s.number)
	if s.current != nil {
		mine[introCurrent], mine[introSteps] = int64(s.current.number), int64(s.current.layout.Steps)
	}
	if !o.NoDirect {
		mine[introVicinity], mine[introProcess] = offheap.Vicinity(), process()
	}
	if s.next != nil {
		mine[introNext] = int64(s.next.number)
	}
	all := make([]int64, introductions*c.Size())
	if err := comm.Allgather(ctx, c, mine, all); err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(all, introductions)), nil
}

// original is the original rank of this process, or its rank where there is no job.
func original(c *comm.Comm) comm.OriginalRank {
	if place := c.Session().Place(); place.Comm != nil {
		return place.Original
	}
	return comm.OriginalRank(c.Rank())
}

// digest tells different options apart.
func (o Options) digest() int64 {
	return digest(o.Copies, o.RangeBytes, o.Consecutive, o.Probe, o.Seed, o.SharedNodes)
}

func digest(what ...any) int64 {
	h := fnv.New64a()
	fmt.Fprint(h, what...)
	return int64(h.Sum64())
}

// disagreement is what is wrong with what the ranks have given to Open, the same on all of them.
func (m meeting) disagreement() error {
	for r, told := range m {
		switch {
		case told[introBad] != 0:
			return fmt.Errorf("%w: rank %d has given what cannot be (its own error says what)", ErrOptions, r)
		case told[introName] != m[0][introName]:
			return fmt.Errorf("%w: rank %d has opened a store of another name than rank 0: all open the same ones in the same order", ErrOptions, r)
		case told[introOptions] != m[0][introOptions]:
			return fmt.Errorf("%w: those of rank %d differ from those of rank 0: all but Limit, NoDirect and Log must be the same", ErrOptions, r)
		}
	}
	return nil
}

// place is where the copies of the next version go. What is fewer after a failure than the
// program has asked for is no reason to end.
func (s *Store) place(c *comm.Comm, m meeting) (*Places, error) {
	nodes := c.Nodes()
	if nodes == nil {
		nodes = make([]int, c.Size())
		for r := range nodes {
			nodes[r] = r
		}
	}
	copies, shared := s.options.Copies, s.options.SharedNodes
	if repairs, _ := c.Session().Recovered(); repairs > 0 || slices.ContainsFunc(m, func(told []int64) bool { return told[introMet] > 0 }) {
		most := min(copies, c.Size())
		places, err := NewPlaces(nodes, most, shared)
		if err == nil && most == copies || !errors.Is(err, ErrTooFewNodes) && err != nil {
			return places, err
		}
		if c.Rank() == 0 {
			s.options.Log.Warn("fewer nodes or ranks are left than each block is to have copies: there are fewer copies, or some on the same node",
				"store", s.name, "copies", copies, "ranks", c.Size(), "nodes", len(seatsOfNodes(nodes)))
		}
		return NewPlaces(nodes, most, true)
	}
	return NewPlaces(nodes, copies, shared)
}

// bind makes the store one of the ranks that have met.
func (s *Store) bind(b binding, met meeting, places *Places) {
	own := b.comm
	s.comm, s.places, s.original, s.met = own, places, nil, true
	s.mem.mu.Lock()
	s.mem.limit, s.mem.peers = s.options.Limit, 0
	for r := range places.Seats() {
		if own.Nodes() == nil || places.node[r] == places.node[own.Rank()] || met.together(r, int(own.Rank())) {
			s.mem.peers++
		}
	}
	s.mem.mu.Unlock()
	for _, told := range met {
		s.original = append(s.original, comm.OriginalRank(told[introOriginal]))
		s.number = max(s.number, uint64(told[introNumber]))
	}
	s.incarnations = met.incarnations()
	s.nearby = met.nearby(own.Rank())
	s.line.open(b)
	s.remove = own.Session().OnRepair(func(context.Context) error {
		s.unbind(ErrUnbound)
		return nil
	})
}

func (m meeting) incarnations() (out []uint64) {
	for _, told := range m {
		out = append(out, uint64(told[introIncarnation]))
	}
	return out
}
