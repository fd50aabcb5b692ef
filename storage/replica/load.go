package replica

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// Loaded are blocks that have come back, in the order in which they were asked for.
type Loaded struct {
	Data []byte

	offsets []int64 // of blocks of different sizes
	size    int
	behind  int // bytes that were in dst before
}

// Len is the number of blocks.
func (l Loaded) Len() int {
	if l.size > 0 {
		return (len(l.Data) - l.behind) / l.size
	}
	return max(len(l.offsets)-1, 0)
}

// Block is one of them, by its place in the order.
func (l Loaded) Block(i int) []byte {
	if l.size > 0 {
		own := l.Data[l.behind:]
		return own[i*l.size : (i+1)*l.size : (i+1)*l.size]
	}
	return l.Data[l.offsets[i]:l.offsets[i+1]:l.offsets[i+1]]
}

// Loading is a Load under way.
type Loading struct {
	*Request

	loaded Loaded
}

// Wait waits for the blocks: see Request.Wait.
func (l *Loading) Wait(ctx context.Context) (Loaded, error) {
	err := l.Request.Wait(ctx)
	select {
	case <-l.done:
		return l.loaded, err
	default:
		return Loaded{}, err
	}
}

// Load returns blocks of the present version to this rank, each rank those that it asks for; nothing is
// an answer too. It is collective. Only who has a copy is asked for it: one rank for all blocks with the
// same holders, so that few messages are needed. The data is appended to dst, which may be nil.
//
// If some have no copy left, the error is a *LostError with these, and the others are there: the lost
// ones are zero, or empty if blocks differ in size. Blocks of one size for which the system has not the memory
// are ErrMemory.
func (s *Store) Load(ctx context.Context, dst []byte, ranges ...Range) (Loaded, error) {
	return s.StartLoad(ctx, dst, ranges...).Wait(context.WithoutCancel(ctx))
}

// StartLoad begins with Load and does not wait for its end. dst is not to be used meanwhile.
func (s *Store) StartLoad(ctx context.Context, dst []byte, ranges ...Range) *Loading {
	return s.startLoad(ctx, dst, func(ld *loading) error { return ld.run(ranges) })
}

// LoadAll is Load where every rank knows what all ask for: requests[r] are the blocks for rank r, the
// same on all ranks. So nobody needs to be asked; but where many ask for little, these lists cost more
// than that.
func (s *Store) LoadAll(ctx context.Context, dst []byte, requests [][]Range) (Loaded, error) {
	return s.StartLoadAll(ctx, dst, requests).Wait(context.WithoutCancel(ctx))
}

// StartLoadAll begins with LoadAll and does not wait for its end.
func (s *Store) StartLoadAll(ctx context.Context, dst []byte, requests [][]Range) *Loading {
	return s.startLoad(ctx, dst, func(ld *loading) error { return ld.runAll(requests) })
}

func (s *Store) startLoad(ctx context.Context, dst []byte, run func(ld *loading) error) *Loading {
	l := &Loading{}
	l.Request = s.start(ctx, func(x *exchange) error {
		began := time.Now()
		defer func() { s.count(&s.stats.loaded, x, began) }()
		v, err := s.read()
		if err != nil {
			return x.refuse(err)
		}
		ld := newLoading(s, x, v)
		ld.dst, ld.behind = dst, len(dst)
		if err = run(ld); err == nil || ld.complete {
			l.loaded = ld.loaded()
		}
		return err
	})
	return l
}

// loading is one rank's part in a Load.
type loading struct {
	s   *Store
	x   *exchange
	v   *version
	dst []byte

	behind int // bytes that were in dst before

	wanted  []*want        // pieces that it needs, in their order
	mending []*want        // ranges of which its own copy is damaged or missing
	entered map[int64]bool // these
	// complaints are ranges that were damaged when they came, by who has sent them or has had them read.
	complaints map[Seat][]int64
	failed     error // no memory for what has come
	bad        error // what is wrong with what this rank asks for
	complete   bool
}

func newLoading(s *Store, x *exchange, v *version) *loading {
	return &loading{s: s, x: x, v: v, complaints: make(map[Seat][]int64)}
}

// want is a piece of a range that a rank needs.
type want struct {
	piece
	data []byte // where it goes; of blocks of different sizes, what came
	bad  []Seat // whose copy is damaged
	got  bool
	// missed: it was not read where it is.
	missed bool
	copy   bool // it is to be this rank's copy
}

// run takes part also where what this rank asks for cannot be, as if it were nothing: nobody waits for it,
// and the error comes at the end.
func (ld *loading) run(ranges []Range) error {
	ld.bad = ld.want(ranges)
	return ld.fetch(ld.ask)
}

// runAll spares the ranks the requests of the first round.
func (ld *loading) runAll(requests [][]Range) error {
	err := ld.checkAll(requests)
	if err == nil {
		err = ld.want(requests[ld.x.comm.Rank()])
	}
	if err := ld.sameLists(requests, err); err != nil {
		return err
	}
	return ld.fetch(func(parcel) (parcel, error) { return ld.overhear(requests), nil })
}

func (ld *loading) checkAll(requests [][]Range) error {
	if len(requests) != ld.x.comm.Size() {
		return fmt.Errorf("%w: the requests of %d ranks were given, and there are %d", ErrRange, len(requests), ld.x.comm.Size())
	}
	for r, list := range requests {
		if err := ld.v.layout.geo.check(list); err != nil {
			return fmt.Errorf("request of rank %d: %w", r, err)
		}
	}
	return nil
}

// sameLists makes sure that all ranks have given the same requests, and that these can be.
func (ld *loading) sameLists(requests [][]Range, own error) error {
	h := fnv.New64a()
	fmt.Fprint(h, requests)
	digest := int64(h.Sum64() >> 1)
	most, err := ld.s.settled(ld.x, own, digest, -digest)
	if err != nil {
		return err
	}
	if most[0] != -most[1] {
		return ld.x.refuse(fmt.Errorf("%w: the ranks have given different lists to LoadAll: all give all requests, or use Load", ErrRange))
	}
	return nil
}

// check is what is wrong with blocks that are asked for.
func (g *geometry) check(ranges []Range) error {
	for _, r := range ranges {
		if r.Lo < 0 || r.Hi > g.n || r.Lo > r.Hi {
			return fmt.Errorf("%w: %d to %d: there are the blocks 0 to %d", ErrRange, r.Lo, r.Hi-1, g.n-1)
		}
	}
	return nil
}

// want enters what this rank asks for and makes room for blocks of one size.
func (ld *loading) want(ranges []Range) error {
	g := ld.v.layout.geo
	if err := g.check(ranges); err != nil {
		return err
	}
	n, blocks := len(ld.dst), int64(0)
	for _, r := range ranges {
		blocks += r.Len()
	}
	if err := lends(blocks, g.size, cap(ld.dst)-n); err != nil {
		return err
	}
	for _, r := range ranges {
		g.pieces(r, func(p piece) { ld.wanted = append(ld.wanted, &want{piece: p}) })
	}
	if g.size == 0 {
		return nil
	}
	ld.dst = slices.Grow(ld.dst, int(blocks)*g.size)[:n+int(blocks)*g.size]
	at := ld.dst[n:]
	for _, w := range ld.wanted {
		k := int(w.blocks.Len()) * g.size
		w.data, at = at[:k:k], at[k:]
	}
	return nil
}
