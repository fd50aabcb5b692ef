package main

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/craft-go/craft/examples/kmeans/dataset"
	"github.com/craft-go/craft/examples/kmeans/lloyd"
	"github.com/craft-go/craft/storage/replica"
)

// points are those that a rank has, in whole blocks of lloyd.BlockPoints; the last block
// of all is filled up with zeros.
type points struct {
	total  int64 // of all ranks together
	dim    int
	ranges []replica.Range // of blocks, in the order of data
	data   []float64
}

// blocks is the number of all blocks.
func (p *points) blocks() int64 { return (p.total + lloyd.BlockPoints - 1) / lloyd.BlockPoints }

// blockLen is the number of coordinates in a block.
func (p *points) blockLen() int { return lloyd.BlockPoints * p.dim }

// count is the number of points of a range of blocks.
func (p *points) count(r replica.Range) int64 {
	return min(r.Hi*lloyd.BlockPoints, p.total) - r.Lo*lloyd.BlockPoints
}

// sum is the number of points of ranges of blocks.
func (p *points) sum(ranges []replica.Range) (n int64) {
	for _, r := range ranges {
		n += p.count(r)
	}
	return n
}

// room is points of the same kind, of other blocks.
func (p *points) room(ranges []replica.Range) points {
	return points{total: p.total, dim: p.dim, ranges: ranges, data: make([]float64, int(length(ranges))*p.blockLen())}
}

// read makes or reads the points of a range of blocks.
func (p *points) read(source dataset.Source, r replica.Range, to []float64) error {
	return source.Read(r.Lo*lloyd.BlockPoints, to[:int(p.count(r))*p.dim])
}

// add takes over further ones.
func (p *points) add(more points) {
	if p.data == nil {
		*p = more
		return
	}
	p.ranges = append(p.ranges, more.ranges...)
	p.data = append(p.data, more.data...)
}

// each calls f for each block, with the number of points in it.
func (p *points) each(f func(id int64, block []float64, n int)) {
	data := p.data
	for _, r := range p.ranges {
		for id := r.Lo; id < r.Hi; id++ {
			f(id, data[:p.blockLen()], int(p.count(replica.Range{Lo: id, Hi: id + 1})))
			data = data[p.blockLen():]
		}
	}
}

// block is one of them; nil: this rank does not have it.
func (p *points) block(id int64) []float64 {
	if data := p.from(id); data != nil {
		return data[:p.blockLen()]
	}
	return nil
}

// from is the data from the beginning of a block, of which this rank may have none.
func (p *points) from(id int64) []float64 {
	var before int64
	for _, r := range p.ranges {
		if r.Lo <= id && id < r.Hi {
			return p.data[int(before+id-r.Lo)*p.blockLen():]
		}
		before += r.Len()
	}
	return nil
}

// length is the number of blocks.
func length(ranges []replica.Range) (n int64) {
	for _, r := range ranges {
		n += r.Len()
	}
	return n
}

// takes says which of n blocks a rank takes of those that nobody has: after that each has
// as many as an even division gives it, or more. So a replacement gets what was lost, and
// survivors share it.
func takes(n int64, has [][]replica.Range, rank int) (mine []replica.Range) {
	missing := gaps(n, slices.Concat(has...))
	for r, ranges := range has[:rank+1] {
		mine, missing = cut(missing, replica.Even(n, len(has), r).Len()-length(ranges))
	}
	return mine
}

// gaps are the blocks out of n that are in none of the ranges.
func gaps(n int64, ranges []replica.Range) (missing []replica.Range) {
	ranges = slices.SortedFunc(slices.Values(ranges), func(a, b replica.Range) int { return cmp.Compare(a.Lo, b.Lo) })
	var next int64
	for _, r := range append(ranges, replica.Range{Lo: n, Hi: n}) {
		if next < r.Lo {
			missing = append(missing, replica.Range{Lo: next, Hi: r.Lo})
		}
		next = max(next, r.Hi)
	}
	return missing
}

// cut takes the first blocks off, as many as are wanted if there are so many.
func cut(ranges []replica.Range, want int64) (first, rest []replica.Range) {
	for i, r := range ranges {
		if want <= 0 {
			return first, ranges[i:]
		}
		mine := replica.Range{Lo: r.Lo, Hi: min(r.Hi, r.Lo+want)}
		first = append(first, mine)
		want -= mine.Len()
		if mine.Hi < r.Hi {
			return first, append([]replica.Range{{Lo: mine.Hi, Hi: r.Hi}}, ranges[i+1:]...)
		}
	}
	return first, nil
}

// common are the parts of ranges that are in one of others.
func common(ranges, others []replica.Range) (both []replica.Range) {
	for _, r := range ranges {
		for _, o := range others {
			if lo, hi := max(r.Lo, o.Lo), min(r.Hi, o.Hi); lo < hi {
				both = append(both, replica.Range{Lo: lo, Hi: hi})
			}
		}
	}
	return both
}

// encode writes coordinates as bytes, decode reads them.
func encode(to []byte, from []float64) {
	for i, x := range from {
		binary.LittleEndian.PutUint64(to[8*i:], math.Float64bits(x))
	}
}

func decode(to []float64, from []byte) {
	for i := range to {
		to[i] = math.Float64frombits(binary.LittleEndian.Uint64(from[8*i:]))
	}
}
