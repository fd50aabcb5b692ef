package placement

import (
	"context"

	"github.com/craft-go/craft/storage"
)

// report is what a rank tells rank 0 when it has done its share.
type report struct {
	verb string // verbFlushed, verbHealed
	id   storage.ID
}

// report tells rank 0 that this rank has done something with a version.
func (s *Placement) report(ctx context.Context, verb string, id storage.ID) error {
	if s.root() {
		s.reported(report{verb, id})
		return nil
	}
	return s.call(ctx, 0, verb, id)
}

// reported is called on rank 0 for each rank.
func (s *Placement) reported(r report) {
	s.mu.Lock()
	s.reports[r]++
	all := s.reports[r] == len(s.nodes.of)
	if all {
		delete(s.reports, r)
	}
	s.mu.Unlock()
	switch {
	case all && r.verb == verbFlushed:
		s.allFlushed(r.id)
	case all && r.verb == verbHealed:
		s.allHealed(r.id)
	}
}
