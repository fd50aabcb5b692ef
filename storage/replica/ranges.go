package replica

import (
	"cmp"
	"fmt"
	"slices"
)

// Range are the blocks Lo to Hi-1.
type Range struct{ Lo, Hi int64 }

// Len is the number of blocks.
func (r Range) Len() int64 { return r.Hi - r.Lo }

// String gives "3-7", or "3" for a single block.
func (r Range) String() string {
	if r.Len() == 1 {
		return fmt.Sprint(r.Lo)
	}
	return fmt.Sprintf("%d-%d", r.Lo, r.Hi-1)
}

// Even is the share of part i of several when n blocks are divided evenly: block x belongs to part
// floor(x*parts/n).
func Even(n int64, parts, i int) Range {
	each, rest := n/int64(parts), n%int64(parts)
	from := func(i int64) int64 { return i*each + (i*rest+int64(parts)-1)/int64(parts) }
	return Range{from(int64(i)), from(int64(i) + 1)}
}

// Split is the share of part i of several when the blocks of some ranges are divided evenly, in
// their order.
func Split(ranges []Range, parts, i int) (share []Range) {
	var n int64
	for _, r := range ranges {
		n += r.Len()
	}
	want := Even(n, parts, i)
	var before int64
	for _, r := range ranges {
		lo, hi := max(r.Lo, r.Lo+want.Lo-before), min(r.Hi, r.Lo+want.Hi-before)
		if lo < hi {
			share = append(share, Range{lo, hi})
		}
		before += r.Len()
	}
	return share
}

// merge are the same blocks in ascending order, neighbours together.
func merge(ranges []Range) (out []Range) {
	ranges = slices.SortedFunc(slices.Values(ranges), func(a, b Range) int { return cmp.Compare(a.Lo, b.Lo) })
	for _, r := range ranges {
		switch last := len(out) - 1; {
		case r.Len() <= 0:
		case last >= 0 && r.Lo <= out[last].Hi:
			out[last].Hi = max(out[last].Hi, r.Hi)
		default:
			out = append(out, r)
		}
	}
	return out
}
