package cptypes

import "slices"

// Across returns the pairs (i, j) of mine[i] and others[j] that lie in the same memory.
// With write it looks as Find does with few, at all that they hold, and says whether
// that was all; without, for what reading mine would change of what the others hold.
func (o *Overlaps) Across(mine, others []Value, write bool) (pairs [][2]int, all bool) {
	o.locations = locations{list: o.list[:0], few: write, variables: true, deep: write}
	for i, v := range mine {
		o.owner = i
		o.of(v)
	}
	near := (&locations{list: slices.Clone(o.list)}).near()
	o.deep = true
	for j, v := range others { // there may be far more of it than of mine
		before := len(o.list)
		o.owner = len(mine) + j
		o.of(v)
		kept := o.list[:before]
		for _, s := range o.list[before:] {
			if hits(near, s.region) {
				kept = append(kept, s)
			}
		}
		o.list = kept
	}
	o.sort()
	n := len(mine)
	pairs = o.pairs(func(a, b int) bool { return a < n && b >= n })
	for k := range pairs {
		pairs[k][1] -= n
	}
	return pairs, !o.cut
}

// OneVariable reports whether one of two values is the variable of the other, or in it.
func OneVariable(a, b Value) bool {
	x, y := variableOf(a), variableOf(b)
	return x.From < y.To && y.From < x.To
}

func variableOf(v Value) region {
	if s, ok := bare(v).(*structured); ok {
		return region{From: uintptr(s.p), To: uintptr(s.p) + s.codec.Type().Size()}
	}
	s := locations{deep: true, few: true}
	if s.of(v); len(s.list) == 0 {
		return region{}
	}
	return s.list[0].region
}
