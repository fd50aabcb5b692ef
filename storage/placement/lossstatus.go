package placement

import (
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
)

// LossStatus says what has become of a version that a Survey has found incomplete.
func (s *Placement) LossStatus(id storage.ID) catalog.LossStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cat.LossStatus(id, s.past())
}

// past is what the manifest says of the job before: its newest version, and where its ranks
// were.
func (s *Placement) past() (before catalog.Past) {
	told := s.manifest.Last()
	if n := told.State().Newest; n != nil {
		before.Newest = n.ID
	}
	type place struct{ host, dir string }
	here := make(map[place]catalog.Place)
	for i, n := range s.nodes.list {
		here[place{n.Host, n.Dir}] = catalog.Place(i)
	}
	before.Ranks = make(map[int][]catalog.Place)
	for _, n := range told.Nodes {
		at, ok := here[place{n.Host, n.Root()}]
		if !ok {
			at = catalog.Gone
		}
		for _, rank := range n.Ranks {
			before.Ranks[rank] = append(before.Ranks[rank], at)
		}
	}
	return before
}
