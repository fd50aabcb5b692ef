package replica

import (
	"encoding/binary"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

// parcel are the pieces that one rank wants of another one.
type parcel = map[comm.Rank][]*want

// fetch gets what is wanted, in rounds: what turns out to be damaged where it was asked for is asked for
// elsewhere. first finds out what others want of this rank in the first one.
func (ld *loading) fetch(first func(from parcel) (parcel, error)) error {
	for serve := first; ; serve = ld.ask {
		from := ld.choose()
		asked, err := serve(from)
		if err != nil {
			return err
		}
		if err := ld.transfer(from, asked); err != nil {
			return err
		}
		most, err := ld.s.settled(ld.x, nil, ld.left(), int64(severity(ld.bad)))
		switch {
		case err != nil:
			return err
		case most[0] > 0: // also where it is refused: who could not read, or has a complaint, tells it
		case most[1] > 0:
			_, err := ld.s.settled(ld.x, ld.bad)
			return err
		default:
			ld.complete = true
			return ld.lost()
		}
	}
}

// left is 1 if this rank has to ask once more, or to tell of damage.
func (ld *loading) left() int64 {
	open := func(w *want) bool { return !w.got && ld.source(w) != absent }
	if len(ld.complaints) > 0 || slices.ContainsFunc(ld.wanted, open) || slices.ContainsFunc(ld.mending, open) {
		return 1
	}
	return 0
}

// choose takes what this rank has itself, and returns what others are asked for. What has just turned out
// to be damaged here is left for the next round: others may be counting on it.
func (ld *loading) choose() parcel {
	from := make(parcel)
	for _, w := range slices.Concat(ld.wanted, ld.mending) {
		if w.got {
			continue
		}
		switch source := ld.source(w); {
		case source == absent:
		case source != ld.v.seat:
			r := ld.v.rank(source)
			from[r] = append(from[r], w)
		case ld.good(w.q):
			ld.deliver(w, ld.v.copies[w.q])
		default:
			w.bad = append(w.bad, ld.v.seat)
		}
	}
	return from
}

// source is the holder that a piece is taken from: this rank if it is one; absent: none is left.
func (ld *loading) source(w *want) Seat {
	return ld.sourceFor(ld.x.comm.Rank(), ld.v.seat, w)
}

// sourceFor is source of another rank, in a seat.
func (ld *loading) sourceFor(r comm.Rank, seat Seat, w *want) Seat {
	if ld.v.layout.isLost(w.q) {
		return absent
	}
	holders := slices.DeleteFunc(ld.v.layout.holders(w.q), func(s Seat) bool { return slices.Contains(w.bad, s) })
	switch {
	case len(holders) == 0:
		return absent
	case slices.Contains(holders, seat):
		return seat
	}
	return serves(holders, int(r), ld.x.comm.Size())
}

// serves is which holder of a piece a rank asks for it. All pieces with the same holders come from one. The paper
// draws it; here ranks that are neighbours ask different ones, and so do those that are p/r apart and load the
// data of the next ranks: so all holders of a set have about as much to send.
func serves(holders []Seat, r, ranks int) Seat {
	slices.Sort(holders)
	n := len(holders)
	return holders[(r*n/ranks+r%max(ranks/n, 1))%n]
}

// good reports whether this rank's copy of a range is what was submitted. If not, it gets a new one.
func (ld *loading) good(q int64) bool {
	if ld.v.good(q) {
		return true
	}
	if ld.v.spoil(q) {
		ld.s.note(1, 0)
	}
	ld.mend(q)
	return false
}

// mend has this rank get a new copy of a range, which is damaged.
func (ld *loading) mend(q int64) {
	ld.wantCopy(q, ld.v.seat)
}

// wantCopy enters that this rank needs a range as a copy, unless it is entered.
func (ld *loading) wantCopy(q int64, bad ...Seat) {
	if ld.entered == nil {
		ld.entered = make(map[int64]bool)
	}
	if ld.entered[q] {
		return
	}
	ld.entered[q] = true
	ld.mending = append(ld.mending, &want{piece: piece{q, ld.v.layout.geo.blocks(q)}, data: ld.v.copies[q].data, bad: bad, copy: true})
}

// How a rank that asks for pieces gets them.
const (
	sends int64 = iota // they are sent to it
	opens              // it opens the memory that they are in
)

// complaint, in the place of blocks, says that a range is damaged.
const complaint int64 = -1

// ask tells each rank what is wanted of it, and returns what others want of this one.
func (ld *loading) ask(from parcel) (parcel, error) {
	parts := make(map[comm.Rank][]int64)
	near := &ld.s.nearby
	for r, list := range from {
		for _, w := range list {
			parts[r] = append(parts[r], w.q, w.blocks.Lo, w.blocks.Hi)
		}
	}
	for seat, list := range ld.complaints {
		for _, q := range list {
			parts[ld.v.rank(seat)] = append(parts[ld.v.rank(seat)], q, complaint, complaint)
		}
	}
	clear(ld.complaints)
	for r := range parts {
		how := sends
		if near.opens[r] {
			how = opens
		}
		parts[r] = append(parts[r], how)
	}
	got, err := comm.SparseAlltoallv(ld.x.ctx, ld.x.comm, parts)
	if err != nil {
		return nil, err
	}
	asked := make(parcel)
	for r, list := range got {
		last := len(list) - 1
		if list[last] == sends {
			delete(near.openedBy, r)
		}
		for part := range slices.Chunk(list[:last], 3) {
			if part[1] == complaint {
				ld.good(part[0])
				continue
			}
			asked[r] = append(asked[r], &want{piece: piece{part[0], Range{part[1], part[2]}}})
		}
	}
	return asked, nil
}

// overhear finds out what others want of this one where all requests are known.
func (ld *loading) overhear(requests [][]Range) parcel {
	asked := make(parcel)
	for i, list := range requests {
		r := comm.Rank(i)
		if r == ld.x.comm.Rank() {
			continue
		}
		seat := ld.seatOf(r)
		for _, blocks := range list {
			ld.v.layout.geo.pieces(blocks, func(p piece) {
				if w := (&want{piece: p}); ld.v.seat != absent && ld.sourceFor(r, seat, w) == ld.v.seat {
					asked[r] = append(asked[r], w)
				}
			})
		}
	}
	return asked
}

// keep makes a range that has come this rank's copy.
func (ld *loading) keep(w *want, sum uint32) bool {
	h := ld.v.copies[w.q]
	data := h.data
	if len(data) == 0 && len(w.data) > 0 { // of blocks of different sizes
		var err error
		if data, err = ld.s.mem.take(int64(len(w.data))); err != nil {
			ld.failed = err
			return false
		}
	}
	if len(data) != len(w.data) {
		return false
	}
	if h.state.Load() == damaged {
		ld.s.note(0, 1)
	}
	ld.v.use.Lock()
	defer ld.v.use.Unlock()
	if h.data == nil && data != nil {
		ld.v.buffers = append(ld.v.buffers, data)
	}
	copy(data, w.data)
	h.data, h.sum = data, sum
	h.state.Store(intact)
	return true
}

// deliver takes a piece from this rank's own copy.
func (ld *loading) deliver(w *want, h *held) {
	parts := ld.v.layout.geo.cut(h.data, w.piece, true)
	if ld.v.layout.geo.size > 0 {
		copy(w.data, parts[0])
	} else {
		w.data = slices.Concat(parts...)
	}
	w.got = true
}

// lost are the blocks that nobody has, as an error; nil: none.
func (ld *loading) lost() error {
	var ranges []Range
	for _, w := range ld.wanted {
		if !w.got {
			ranges = append(ranges, w.blocks)
			clear(w.data)
		}
	}
	if ranges == nil {
		return nil
	}
	return ld.x.refuse(&LostError{Ranges: merge(ranges)})
}

// loaded is what has come, in order.
func (ld *loading) loaded() Loaded {
	out := Loaded{Data: ld.dst, size: ld.v.layout.geo.size, behind: ld.behind}
	if out.size > 0 {
		return out
	}
	out.offsets = []int64{int64(len(ld.dst))}
	for _, w := range ld.wanted {
		n := int(w.blocks.Len())
		at := out.offsets[len(out.offsets)-1]
		for i := range n {
			if w.got {
				at += int64(binary.LittleEndian.Uint32(w.data[i*lengthBytes:]))
			}
			out.offsets = append(out.offsets, at)
		}
		if w.got {
			out.Data = append(out.Data, w.data[n*lengthBytes:]...)
		}
	}
	return out
}
