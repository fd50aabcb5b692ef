package placement

import (
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// Plan says how the next version of that number is to be kept: as the policy
// says, and at the levels that an earlier version has missed. All ranks get the
// same.
func (s *Placement) Plan(version uint64) storage.Levels {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plan(version)
}

// plan is Plan with the lock held.
func (s *Placement) plan(version uint64) storage.Levels { return s.Policy.Plan(version).With(s.owed) }

// SkipNumbers notes, on all ranks alike, that the numbers after one up to another are not
// used: the next version is made at the levels that they would have been due for.
func (s *Placement) SkipNumbers(from, to uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed = s.owed.With(s.Policy.Between(from, to))
}

// Possible are the levels that the nodes allow instead of others.
func (s *Placement) Possible(wanted storage.Levels) (possible storage.Levels) {
	for l := range wanted.All() {
		possible = possible.With(storage.LevelsOf(s.possible(l)))
	}
	return possible
}

// possible is Possible for one level. Of one that the policy does not have there are
// the files of the ranks alone.
func (s *Placement) possible(l storage.Level) storage.Level {
	instead, built := s.reach[l]
	switch {
	case built:
		return instead
	case l.Tier == storage.TierHome:
		return l
	}
	return storage.Local
}

// Outcome is what became of one rank's part of a version, or of all.
type Outcome struct {
	Levels  storage.Levels // that it has below the home; none: it is not stored
	Spilled bool           // it is at home because the node was full
}

// Outcome says what became of this rank's part. It is asked once for each
// version.
func (s *Placement) Outcome(id storage.ID, stored bool) Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	weak := s.weak[id]
	delete(s.weak, id)
	o := Outcome{Spilled: s.sent[id]}
	if !stored {
		return o
	}
	o.Levels = storage.LevelsOf(storage.Local)
	for l := range s.plan(id.Version).BelowHome().All() {
		if weak[l] == nil {
			o.Levels = o.Levels.With(storage.LevelsOf(s.possible(l)))
		}
	}
	return o
}

// Settled notes, on all ranks alike, what became of a version.
func (s *Placement) Settled(h container.Header, o Outcome) {
	id, _ := storage.Identity(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	planned := s.plan(id.Version)
	if o.Spilled {
		s.sent[id] = true
	}
	if o.Levels == 0 {
		s.owed = planned
		return
	}
	s.owed = 0
	s.cat.SetFacts(id, catalog.Facts{Plan: planned, Oldest: h.Oldest})
	for rank := range h.Size {
		s.cat.AddPart(id, storage.Part{Rank: rank, Size: h.Size}, s.nodes.at(comm.Rank(rank)))
	}
	for l := range planned.BelowHome().All() {
		if o.Levels.Include(storage.LevelsOf(s.possible(l))) {
			s.noteProtection(id, h.Size, s.protections[l])
		} else {
			s.owed = s.owed.With(storage.LevelsOf(l))
		}
	}
	if planned.AtHome() {
		s.flusher.Add(id)
	}
	s.forgetOld(id, h.Oldest)
}
