package cells

import (
	"maps"
	"slices"
)

// Share divides rows among ranks, in ranges that differ in length by at most one.
type Share struct{ Rows, Ranks int }

// Range is the rows lo <= row < hi of a rank.
func (s Share) Range(rank int) (lo, hi int) { return s.begin(rank), s.begin(rank + 1) }

// begin gives the first ranks a row more if it does not come out even.
func (s Share) begin(rank int) int {
	return rank*(s.Rows/s.Ranks) + min(rank, s.Rows%s.Ranks)
}

// Owner is the rank that has a row.
func (s Share) Owner(row int) (rank int) {
	each, more := s.Rows/s.Ranks, s.Rows%s.Ranks
	if long := more * (each + 1); row >= long {
		return more + (row-long)/each
	}
	return row / (each + 1)
}

// Border is what two ranks tell each other: rows in ascending order.
type Border struct {
	Rank    int
	Send    []int // that this rank has and the other one needs
	Receive []int // that the other one has
}

// Borders are those of a rank with the others, in their order.
func (g *Grid) Borders(s Share, rank int) []Border {
	lo, hi := s.Range(rank)
	send, receive := make(map[int]map[int]bool), make(map[int]map[int]bool)
	note := func(to map[int]map[int]bool, rank, row int) {
		if to[rank] == nil {
			to[rank] = make(map[int]bool)
		}
		to[rank][row] = true
	}
	for row := lo; row < hi; row++ {
		for _, b := range g.Around(row) {
			if other := s.Owner(b.Row); other != rank { // to whom this row is a neighbour, too
				note(receive, other, b.Row)
				note(send, other, row)
			}
		}
	}
	var all []Border
	for _, other := range sorted(send) {
		all = append(all, Border{Rank: other, Send: sorted(send[other]), Receive: sorted(receive[other])})
	}
	return all
}

// sorted are the keys of a map.
func sorted[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }
