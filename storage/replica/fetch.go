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
func (ld *loading) fetch(first func([]*want) (parcel, error)) error {
	for serve := first; ; serve = ld.ask {
		round := ld.choose()
		asked, err := serve(round)
		if err != nil {
			return err
		}
		if err := ld.transfer(ld.bySource(round), asked); err != nil {
			return err
		}
		more, err := ld.s.another(ld.x, ld.left(), ld.bad)
		if err != nil {
			return err
		}
		if !more {
			ld.complete = true
			return ld.lost()
		}
	}
}

// left reports whether this rank has to ask once more.
func (ld *loading) left() bool {
	open := func(w *want) bool { return !w.got && ld.source(w) != absent }
	return slices.ContainsFunc(ld.wanted, open) || slices.ContainsFunc(ld.mending, open)
}

// choose takes what this rank has itself, and returns what others are asked for. What has just turned out
// to be damaged here is left for the next round: others may be counting on it.
func (ld *loading) choose() (round []*want) {
	for _, w := range slices.Concat(ld.wanted, ld.mending) {
		switch h := ld.v.copies[w.q]; {
		case w.got || ld.source(w) == absent:
		case ld.source(w) != ld.v.seat:
			round = append(round, w)
		case ld.good(w.q):
			ld.deliver(w, h)
		default:
			w.bad = append(w.bad, ld.v.seat)
		}
	}
	return round
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

func (ld *loading) bySource(round []*want) parcel {
	from := make(parcel)
	for _, w := range round {
		r := ld.v.rank(ld.source(w))
		from[r] = append(from[r], w)
	}
	return from
}

// ask tells each rank what is wanted of it, and returns what others want of this one.
func (ld *loading) ask(round []*want) (parcel, error) {
	parts := make(map[comm.Rank][]int64)
	for r, list := range ld.bySource(round) {
		for _, w := range list {
			parts[r] = append(parts[r], w.q, w.blocks.Lo, w.blocks.Hi)
		}
	}
	got, err := comm.SparseAlltoallv(ld.x.ctx, ld.x.comm, parts)
	if err != nil {
		return nil, err
	}
	asked := make(parcel)
	for r, list := range got {
		for part := range slices.Chunk(list, 3) {
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
		seat := Seat(slices.Index(ld.v.ranks, r))
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

// An answer begins with a head for each piece: the range's checksum, whether the copy is good and,
// of blocks of different sizes, how long the piece is.
const (
	headSum    = 0
	headGood   = 4
	headLength = 5
	headBytes  = 13
)

// transfer sends what others have asked for, and gets what was asked for of them. Blocks of one size
// travel with the heads; those of different sizes behind them, when their lengths are known.
func (ld *loading) transfer(from, asked parcel) error {
	heads := make(map[comm.Rank][]byte)
	for _, r := range inTurn(from, ld.x.comm) {
		heads[r] = make([]byte, headBytes*len(from[r]))
		ld.x.receive(r, tagReply, append([][]byte{heads[r]}, ld.memory(from[r])...))
	}
	late := make(map[comm.Rank][][]byte)
	for _, r := range inTurn(asked, ld.x.comm) {
		head, pieces := ld.answer(asked[r])
		if ld.v.layout.geo.size == 0 {
			late[r], pieces = pieces, nil
		}
		ld.x.send(r, tagReply, append([][]byte{head}, pieces...))
	}
	if err := ld.x.wait(); err != nil {
		return err
	}
	if ld.v.layout.geo.size == 0 {
		if err := ld.followed(from, heads, late); err != nil {
			return err
		}
	}
	for r, list := range from {
		for i, w := range list {
			ld.received(w, ld.seatOf(r), heads[r][i*headBytes:])
		}
	}
	return nil
}

// followed gets blocks of different sizes, whose lengths are in the heads.
func (ld *loading) followed(from parcel, heads map[comm.Rank][]byte, late map[comm.Rank][][]byte) error {
	for _, r := range inTurn(from, ld.x.comm) {
		for i, w := range from[r] {
			w.data = make([]byte, binary.LittleEndian.Uint64(heads[r][i*headBytes+headLength:]))
		}
		ld.x.receive(r, tagData, ld.memory(from[r]))
	}
	for _, r := range inTurn(late, ld.x.comm) {
		ld.x.send(r, tagData, late[r])
	}
	return ld.x.wait()
}

func (ld *loading) seatOf(r comm.Rank) Seat { return Seat(slices.Index(ld.v.ranks, r)) }

// memory is where some pieces go, as far as that is known.
func (ld *loading) memory(list []*want) (pieces [][]byte) {
	for _, w := range list {
		if len(w.data) > 0 {
			pieces = append(pieces, w.data)
		}
	}
	return pieces
}

// answer are the heads and the memory of pieces that another rank wants. What is damaged is sent as it is,
// and said to be.
func (ld *loading) answer(list []*want) (head []byte, pieces [][]byte) {
	for _, w := range list {
		var sum uint32
		var good byte
		h := ld.v.copies[w.q]
		if sum = h.sum; ld.good(w.q) {
			good = 1
		}
		parts := ld.v.layout.geo.cut(h.data, w.piece, good == 1)
		head = binary.LittleEndian.AppendUint32(head, sum)
		head = append(head, good)
		head = binary.LittleEndian.AppendUint64(head, uint64(total(parts)))
		pieces = append(pieces, parts...)
	}
	return head, pieces
}

// cut is the memory of a piece of a range as it is stored. Of a damaged one whose blocks differ in size there
// is nothing.
func (g *geometry) cut(data []byte, p piece, good bool) [][]byte {
	whole := g.blocks(p.q)
	lo, hi := int(p.blocks.Lo-whole.Lo), int(p.blocks.Hi-whole.Lo)
	switch {
	case g.size > 0:
		return [][]byte{data[lo*g.size : hi*g.size]}
	case !good:
		return nil
	}
	from := int(whole.Len()) * lengthBytes
	for i := range lo {
		from += int(binary.LittleEndian.Uint32(data[i*lengthBytes:]))
	}
	to := from
	for i := lo; i < hi; i++ {
		to += int(binary.LittleEndian.Uint32(data[i*lengthBytes:]))
	}
	return [][]byte{data[lo*lengthBytes : hi*lengthBytes], data[from:to]}
}

// received takes over what has come for a piece.
func (ld *loading) received(w *want, from Seat, head []byte) {
	if head[headGood] == 0 {
		w.bad = append(w.bad, from)
		return
	}
	w.got = true
	if !w.copy {
		return
	}
	sum := binary.LittleEndian.Uint32(head[headSum:])
	if checksum(w.data) != sum || !ld.keep(w, sum) {
		w.got, w.bad = false, append(w.bad, from)
	}
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
