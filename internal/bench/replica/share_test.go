package replica

import (
	"fmt"
	"math/rand/v2"
	"slices"

	store "github.com/craft-go/craft/storage/replica"
)

// piece is blocks that lie together, the rank that has submitted them, and those that hold them.
type piece struct {
	blocks  store.Range
	owner   int
	holders []int
}

// load is who asks for which blocks, and what has to be sent for that.
type load struct {
	wants [][]store.Range // of each rank
	sends plan
}

// chooser says which of the ranks that do not hold a piece asks for it, given the bytes of each so far.
type chooser func(p piece, ranks, bytes []int) int

// nextBehind is the next one behind the owner.
func nextBehind(p piece, ranks, bytes []int) int {
	return slices.MinFunc(ranks, func(a, b int) int {
		return (a-p.owner+len(bytes))%len(bytes) - (b-p.owner+len(bytes))%len(bytes)
	})
}

// leastGiven is the one that asks for least so far.
func leastGiven(_ piece, ranks, bytes []int) int {
	return slices.MinFunc(ranks, func(a, b int) int { return bytes[a] - bytes[b] })
}

// assign gives each piece to one of the ranks that want some and do not hold it. One of its holders,
// drawn at random, sends a rank all pieces with the same ones. What all of them hold nobody asks for.
func assign(rng *rand.Rand, pieces []piece, ranks int, wanting []int, block int, choose chooser) load {
	l := load{wants: make([][]store.Range, ranks)}
	bytes := make([]int, ranks)
	between := make(map[[2]int]int)
	from := make(map[string]int)
	for _, p := range pieces {
		without := slices.DeleteFunc(slices.Clone(wanting), func(r int) bool { return slices.Contains(p.holders, r) })
		if len(without) == 0 || len(p.holders) == 0 {
			continue
		}
		to, n := choose(p, without, bytes), int(p.blocks.Len())*block
		bytes[to] += n
		source := fmt.Sprint(p.holders, to)
		if _, drawn := from[source]; !drawn {
			from[source] = p.holders[rng.IntN(len(p.holders))]
		}
		between[[2]int{from[source], to}] += n
		l.want(to, p.blocks)
	}
	room := make([]int, ranks)
	for source := range ranks {
		src := 0
		for i := range ranks {
			to := (source + i) % ranks // not all to the same at once
			n := between[[2]int{source, to}]
			l.sends.add(room, source, to, src, n)
			src += n
		}
	}
	return l
}

// want adds blocks to those that a rank asks for.
func (l *load) want(rank int, blocks store.Range) {
	w := l.wants[rank]
	if last := len(w) - 1; last >= 0 && w[last].Hi == blocks.Lo {
		w[last].Hi = blocks.Hi
		return
	}
	l.wants[rank] = append(w, blocks)
}

// length is the number of blocks of some ranges.
func length(ranges []store.Range) (n int64) {
	for _, r := range ranges {
		n += r.Len()
	}
	return n
}

// cut divides blocks into pieces of at most so many, at multiples of each from the first one on.
func cut(blocks store.Range, each, most int64) (out []store.Range) {
	for lo := blocks.Lo; lo < blocks.Hi; {
		hi := min(blocks.Hi, blocks.Lo+((lo-blocks.Lo)/each+1)*each, lo+most)
		out = append(out, store.Range{Lo: lo, Hi: hi})
		lo = hi
	}
	return out
}
