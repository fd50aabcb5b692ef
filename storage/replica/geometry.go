package replica

import (
	"slices"
	"sort"
)

// geometry is how the blocks of a version are cut into ranges: those of one submitter are numbered
// one after the other, in the order of the submitters' slots. A range has blocks of one
// submitter only, so that one checksum, which that makes, belongs to it.
type geometry struct {
	n     int64 // blocks
	size  int   // bytes of each; 0: sizes of their own
	per   int64 // blocks of a range; the last one of a submitter may have fewer
	slots []submission
	byID  []Slot // those that have blocks, in the order of these
}

// submission are the blocks that the seat of a slot has submitted.
type submission struct {
	first, count int64
	base         int64 // number of its first range
}

func newGeometry(n int64, size int, per int64, submitted []Range) *geometry {
	g := &geometry{n: n, size: size, per: per, slots: make([]submission, len(submitted))}
	var base int64
	for s, r := range submitted {
		g.slots[s] = submission{first: r.Lo, count: r.Len(), base: base}
		base += (r.Len() + per - 1) / per
		if r.Len() > 0 {
			g.byID = append(g.byID, Slot(s))
		}
	}
	slices.SortFunc(g.byID, func(a, b Slot) int { return int(min(max(g.slots[a].first-g.slots[b].first, -1), 1)) })
	return g
}

// ranges is the number of ranges.
func (g *geometry) ranges() int64 {
	last := g.slots[len(g.slots)-1]
	return last.base + (last.count+g.per-1)/g.per
}

// submitter is the slot that a range was submitted into.
func (g *geometry) submitter(q int64) Slot {
	return Slot(sort.Search(len(g.slots), func(s int) bool { return g.slots[s].base > q }) - 1)
}

// blocks are those of a range.
func (g *geometry) blocks(q int64) Range {
	s := g.slots[g.submitter(q)]
	lo := (q - s.base) * g.per
	return Range{s.first + lo, s.first + min(lo+g.per, s.count)}
}

// bytes is the length of a range, of blocks of one size.
func (g *geometry) bytes(q int64) int { return int(g.blocks(q).Len()) * g.size }

// own are the ranges that were submitted into a slot, [from, to).
func (g *geometry) own(s Slot) (from, to int64) {
	o := g.slots[s]
	return o.base, o.base + (o.count+g.per-1)/g.per
}

// piece is a run of blocks of one range.
type piece struct {
	q      int64
	blocks Range
}

// pieces cuts blocks, which there are, at the ends of ranges.
func (g *geometry) pieces(r Range, yield func(piece)) {
	at := sort.Search(len(g.byID), func(i int) bool { return g.slots[g.byID[i]].first > r.Lo }) - 1
	for r.Len() > 0 {
		s := g.slots[g.byID[at]]
		for end := min(r.Hi, s.first+s.count); r.Lo < end; {
			j := (r.Lo - s.first) / g.per
			hi := min(end, s.first+(j+1)*g.per)
			yield(piece{s.base + j, Range{r.Lo, hi}})
			r.Lo = hi
		}
		at++
	}
}
