package placement

import (
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
)

// hostOf is the rank that has a part on its node or, if no node has it, that is
// to get it there.
func (s *Placement) hostOf(id storage.ID, part storage.Part) comm.Rank {
	ranks := len(s.nodes.of)
	own := comm.Rank(part.Rank % ranks)
	at := s.cat.Nodes(catalog.PartOf(id, part))
	if len(at) == 0 || slices.Contains(at, s.nodes.at(own)) {
		return own
	}
	return s.nodes.list[at[0]].leader()
}
