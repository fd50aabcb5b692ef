package replica

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

// head is what a holder says about a piece that another rank wants of it.
type head struct {
	Sum    uint32 // of the range
	Good   bool   // the copy is what was submitted; who reads a whole range in memory finds out itself
	Length int64  // of the piece, as it is stored; 0 if it is not good
}

// said is what a holder says to those that open its memory.
type said struct {
	head
	At location
}

// headBytes is the length of what is said about a piece.
func headBytes(near bool) int {
	if near {
		return binary.Size(said{})
	}
	return binary.Size(head{})
}

func (h *said) append(b []byte, near bool) ([]byte, error) {
	if near {
		return binary.Append(b, binary.LittleEndian, h)
	}
	return binary.Append(b, binary.LittleEndian, h.head)
}

// parse is what was said about each piece.
func parse(b []byte, near bool) (list []said, err error) {
	for each := range slices.Chunk(b, headBytes(near)) {
		var h said
		if near {
			_, err = binary.Decode(each, binary.LittleEndian, &h)
		} else {
			_, err = binary.Decode(each, binary.LittleEndian, &h.head)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}

// transfer sends what others have asked for, and gets what was asked for of them. An answer begins with the heads
// of its pieces. Ranks that open the memory of the holder read the pieces there; to others they travel with the heads,
// or behind them where their lengths are not known before. The agreement at the end of a round is what a
// holder waits for before its memory may change.
func (ld *loading) transfer(from, asked parcel) error {
	heads := make(map[comm.Rank][]byte)
	for _, r := range inTurn(from, ld.x.comm) {
		near := ld.s.nearby.opens[r]
		heads[r] = make([]byte, headBytes(near)*len(from[r]))
		pieces := [][]byte{heads[r]}
		if ld.atOnce(near) {
			pieces = append(pieces, rooms(from[r])...)
		}
		ld.x.receive(r, tagReply, pieces)
	}
	late := make(map[comm.Rank][][]byte)
	for _, r := range inTurn(asked, ld.x.comm) {
		near := ld.s.nearby.openedBy[r]
		head, pieces, err := ld.answer(asked[r], near)
		if err != nil {
			return ld.x.withdraw(err)
		}
		if !ld.atOnce(near) {
			late[r], pieces = pieces, nil
		}
		ld.x.send(r, tagReply, append([][]byte{head}, pieces...))
	}
	if err := ld.x.wait(); err != nil {
		return err
	}
	about := make(map[comm.Rank][]said)
	for r, b := range heads {
		var err error
		if about[r], err = parse(b, ld.s.nearby.opens[r]); err != nil {
			return err
		}
	}
	if err := ld.follow(from, about, late); err != nil {
		return err
	}
	for r, list := range from {
		seat := ld.seatOf(r)
		for i, w := range list {
			ld.received(w, seat, about[r][i])
		}
	}
	return nil
}

// atOnce reports whether pieces travel with their heads between two ranks.
func (ld *loading) atOnce(near bool) bool { return ld.v.layout.geo.size > 0 && !near }

// follow gets what did not come with the heads.
func (ld *loading) follow(from parcel, about map[comm.Rank][]said, late map[comm.Rank][][]byte) error {
	for _, r := range inTurn(late, ld.x.comm) {
		ld.x.send(r, tagData, late[r])
	}
	for _, r := range inTurn(from, ld.x.comm) {
		if ld.atOnce(ld.s.nearby.opens[r]) {
			continue
		}
		var sent []*want
		for i, w := range from[r] {
			if ld.v.layout.geo.size == 0 {
				w.data = make([]byte, about[r][i].Length)
			}
			if about[r][i].Good && about[r][i].At.Address.IsZero() {
				sent = append(sent, w)
			}
		}
		ld.x.receive(r, tagData, rooms(sent))
	}
	if err := ld.x.wait(); err != nil {
		return err
	}
	for r, list := range from {
		ld.read(r, list, about[r])
	}
	return ld.x.comm.Lease() // holders wait no longer than it lasts
}

// read reads pieces out of the memory of another rank. Where it cannot they are asked for again, and sent. A rank that has
// left may have closed its memory before all have read, and have taken part in the agreement that ends the round.
func (ld *loading) read(r comm.Rank, list []*want, about []said) {
	var failed error
	from := make(map[*window]bool)
	for i, w := range list {
		if at := about[i].At; !at.Address.IsZero() && failed == nil {
			failed = ld.readPiece(w.data, at, from)
		}
	}
	for one := range from {
		failed = cmp.Or(failed, one.Valid())
	}
	if failed == nil {
		return
	}
	for i, w := range list {
		w.missed = !about[i].At.Address.IsZero()
	}
	ld.s.unreachable(r, failed)
}

func (ld *loading) readPiece(out []byte, at location, used map[*window]bool) error {
	from, err := ld.s.nearby.open(at.Address)
	if err != nil {
		return err
	}
	used[from] = true
	n, err := from.ReadAt(out, at.Begin)
	ld.x.traffic.direct.Add(int64(n))
	return err
}

func (ld *loading) seatOf(r comm.Rank) Seat { return Seat(slices.Index(ld.v.ranks, r)) }

// rooms are where some pieces go, as far as that is known.
func rooms(list []*want) (pieces [][]byte) {
	for _, w := range list {
		if len(w.data) > 0 {
			pieces = append(pieces, w.data)
		}
	}
	return pieces
}

// answer are the heads of pieces that another rank wants, and what of them is to be sent. Who opens this rank's memory
// reads the pieces there, where they are in one.
func (ld *loading) answer(list []*want, near bool) (heads []byte, pieces [][]byte, err error) {
	for _, w := range list {
		copied := ld.v.copies[w.q]
		h := said{head: head{Sum: copied.sum, Good: ld.checkedThere(w, copied, near) || ld.good(w.q)}}
		parts := ld.v.layout.geo.cut(copied.data, w.piece, h.Good)
		h.Length = total(parts)
		switch {
		case !h.Good && near:
		case near && !copied.at.Address.IsZero() && len(parts) == 1:
			h.At = location{copied.at.Address, copied.at.Begin + int64(cap(copied.data)-cap(parts[0]))}
		default:
			pieces = append(pieces, parts...)
		}
		if heads, err = h.append(heads, near); err != nil {
			return nil, nil, err
		}
	}
	return heads, pieces, nil
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
	case p.blocks == whole:
		return [][]byte{data}
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

// checkedThere reports whether it is the reader who finds out if a copy is good: it reads the whole range in the memory
// of this rank.
func (ld *loading) checkedThere(w *want, h *held, near bool) bool {
	return near && !h.at.Address.IsZero() && h.state.Load() == intact && w.blocks == ld.v.layout.geo.blocks(w.q)
}

// received takes over what has come for a piece.
func (ld *loading) received(w *want, from Seat, h said) {
	if !h.Good {
		w.bad = append(w.bad, from)
		return
	}
	if w.missed {
		w.missed = false
		return
	}
	whole := w.blocks == ld.v.layout.geo.blocks(w.q)
	if whole && (w.copy || !h.At.Address.IsZero()) && checksum(w.data) != h.Sum {
		w.bad = append(w.bad, from)
		ld.complaints[from] = append(ld.complaints[from], w.q)
		return
	}
	w.got = !w.copy || ld.keep(w, h.Sum)
	if !w.got {
		w.bad = append(w.bad, from)
	}
}
