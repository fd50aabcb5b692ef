package replica

import "github.com/craft-go/craft/aft/comm"

// Holders are the ranks that have a copy of a block, so that the program can have others load it. There
// are none of a block that is lost or that there is not.
func (s *Store) Holders(block int64) (ranks []comm.Rank) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.current
	if v == nil || block < 0 || block >= v.layout.geo.n {
		return nil
	}
	v.layout.geo.pieces(Range{block, block + 1}, func(p piece) {
		if v.layout.isLost(p.q) {
			return
		}
		for _, seat := range v.layout.holders(p.q) {
			ranks = append(ranks, v.rank(seat))
		}
	})
	return ranks
}
