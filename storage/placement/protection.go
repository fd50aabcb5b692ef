package placement

import (
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/domain"
	"github.com/craft-go/craft/storage/flush"
)

// protection says which ranks hold what protects the versions of a level. All ranks
// know it of all.
type protection struct {
	partners []int // by rank: who has its copy
	sets     []domain.Set
	parity   int
}

// noteProtection enters what protects a version that has reached its level, as a Survey
// would find it: a flush may need it.
func (s *Placement) noteProtection(id storage.ID, size int, g protection) {
	for rank, holder := range g.partners {
		key := storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: storage.Part{Rank: rank, Size: size}}
		s.cat.Add(key, s.nodes.at(comm.Rank(holder)))
	}
	for _, members := range g.sets {
		for _, rank := range members.Members {
			key := storage.ObjectKey{ID: id, Kind: storage.KindParity, Part: storage.Part{Rank: rank, Size: size}}
			s.cat.Add(key, s.nodes.at(comm.Rank(rank)))
		}
		s.cat.AddSet(id, catalog.Set{Ranks: members.Members, Size: size, Parity: g.parity, Holders: members.Members})
	}
}

// forgetOld drops, on ranks that do not decide about retention, what nobody will
// ask them about any more: a job may write very many versions.
func (s *Placement) forgetOld(newest storage.ID, oldest uint64) {
	if s.root() {
		return // Remove forgets
	}
	s.written = append(s.written, newest)
	if oldest == 0 {
		oldest = newest.Version
	}
	kept := s.written[:0]
	for _, id := range s.written {
		if id.Version >= oldest || s.flusher.Pending(id) {
			kept = append(kept, id)
		} else {
			s.forget(id)
		}
	}
	s.written = kept
}

// forget drops all that is known of a version.
func (s *Placement) forget(id storage.ID) {
	s.cat.Forget(id)
	s.flusher.Forget(id)
	for _, verb := range []string{verbFlushed, verbHealed} {
		delete(s.reports, report{verb, id})
	}
	if k, known := s.keeps[id]; known {
		k.end(flush.ErrCalledOff)
		delete(s.keeps, id)
	}
	delete(s.own, id)
	delete(s.healed, id)
	delete(s.torn, id)
	delete(s.sent, id)
}
