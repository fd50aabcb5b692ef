package comm

const (
	// doublingLimit is the length in bytes up to which an Allreduce in any order
	// sends all of it in each of its log2 n rounds.
	doublingLimit = 64 << 10
	// halvingRanks is the number of ranks from which on 2 log2 n messages one
	// after the other are better than 2(n-1) in two rounds.
	halvingRanks = 16
)

// allreduceAnyOrder combines along a tree of ranks.
func allreduceAnyOrder[T Datum](k *call, in, out []T, op Op[T]) error {
	n, length := k.c.Size(), len(in)*sizeOf[T]()
	if length <= doublingLimit {
		return allreduceDoubling(k, in, out, op)
	}
	if err := agreeLengthDoubling(k, length); err != nil {
		return err
	}
	halving := n >= halvingRanks && n&(n-1) == 0
	return inSegments(in, out, func(in, out []T) error {
		if halving {
			return allreduceHalving(k, in, out, op)
		}
		return allreduceBlocks(k, in, out, op)
	})
}

// allreduceDoubling is recursive doubling: log2 n messages of each rank.
func allreduceDoubling[T Datum](k *call, in, out []T, op Op[T]) error {
	work, spare := acquire[T](len(in))
	v := &partial[T]{me: k.c.Rank(), acc: out, spare: spare, op: op, refuse: k.refuses()}
	if !v.refuse {
		copy(out, in)
	}
	err := doubling(k, v)
	switch {
	case err != nil:
	case v.refuse:
		err = errDiffer()
	case v.swapped:
		copy(out, v.acc)
	}
	work.free()
	return err
}

// partial is the combined data of some ranks.
type partial[T Datum] struct {
	me         Rank
	acc, spare []T
	swapped    bool // acc and spare have changed places
	op         Op[T]
	refuse     bool
}

func (p *partial[T]) message() []byte {
	if p.refuse {
		return refusal.notice()
	}
	return bytesOf(p.acc)
}

func (p *partial[T]) room() []byte { return bytesOf(p.spare) }

func (p *partial[T]) join(peer Rank, st Status, err error) {
	p.refuse = p.refuse || !isData(st, err, p.room())
	switch {
	case p.refuse:
	case p.me < peer:
		p.op(p.acc, p.spare)
	default:
		p.op(p.spare, p.acc)
		p.swap()
	}
}

func (p *partial[T]) adopt(st Status, err error) {
	p.refuse = p.refuse || !isData(st, err, p.room())
	p.swap()
}

func (p *partial[T]) swap() {
	p.acc, p.spare, p.swapped = p.spare, p.acc, !p.swapped
}

// allreduceHalving is Rabenseifner's algorithm for a power of two: in each round
// a rank gives half of what it still has to the partner that keeps this half, and
// combines the other half with the partner's; then the results go the same way
// back. Each rank sends 2(n-1)/n of the data, the least possible, in 2 log2 n
// messages. The nearest ranks exchange the longest messages.
func allreduceHalving[T Datum](k *call, in, out []T, op Op[T]) error {
	work, room := acquire[T](len(in) - len(in)/2)
	parts, err := scatterHalving(k, in, out, room, op)
	work.free()
	for i := len(parts) - 2; err == nil && i >= 0; i-- {
		peer := k.c.Rank() ^ Rank(1<<i)
		have, rest := parts[i+1], parts[i].without(parts[i+1])
		_, err = k.exchange(peer, bytesOf(out[have.lo:have.hi]), peer, bytesOf(out[rest.lo:rest.hi]))
	}
	return err
}

// scatterHalving leaves this rank's part of the result in out, and returns the
// parts it had after each round: all of the data first, that of the result last.
func scatterHalving[T Datum](k *call, in, out, room []T, op Op[T]) ([]part, error) {
	n, me := k.c.Size(), int(k.c.Rank())
	all := part{0, len(in)}
	parts := []part{all}
	for bit := 1; bit < n; bit *= 2 {
		keep := all
		if mid := (all.lo + all.hi) / 2; me&bit == 0 {
			keep.hi = mid
		} else {
			keep.lo = mid
		}
		give := all.without(keep)
		theirs := room[:keep.hi-keep.lo]
		peer := Rank(me ^ bit)
		_, err := k.exchange(peer, bytesOf(in[give.lo:give.hi]), peer, bytesOf(theirs))
		if err != nil {
			return nil, err
		}
		if bit == 1 {
			copy(out[keep.lo:keep.hi], in[keep.lo:keep.hi])
			in = out
		}
		op(out[keep.lo:keep.hi], theirs)
		all = keep
		parts = append(parts, all)
	}
	return parts, nil
}

// part is a range of elements.
type part struct{ lo, hi int }

// without is p without its beginning or end.
func (p part) without(q part) part {
	if p.lo == q.lo {
		return part{q.hi, p.hi}
	}
	return part{p.lo, q.lo}
}
