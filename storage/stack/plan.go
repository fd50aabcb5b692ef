package stack

import (
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// Plan says how the next version of that number is to be kept: as the policy
// says, and at the levels that an earlier version has missed. All ranks get the
// same.
func (s *Stack) Plan(version uint64) storage.Plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.Policy.Plan(version)
	p.Node = max(p.Node, s.owed.Node)
	p.Flush = p.Flush || s.owed.Flush
	return p
}

// Skip tells, on all ranks alike, that the numbers after one up to another are not
// used: the next version is made at the levels that they would have been due for.
func (s *Stack) Skip(from, to uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.Policy {
		switch {
		case from/p.Every == to/p.Every:
		case p.Level == storage.PFS:
			s.owed.Flush = true
		default:
			s.owed.Node = max(s.owed.Node, p.Level)
		}
	}
}

// Possible is the level that the nodes allow instead of another.
func (s *Stack) Possible(l storage.Level) storage.Level {
	return min(l, max(s.reach[l], storage.Local))
}

// Outcome is what became of one rank's part of a version, or of all.
type Outcome struct {
	Level   storage.Level // reached on the nodes; Captured: it is not stored
	Spilled bool          // it is at home because the node was full
}

// Outcome says what became of this rank's part. It is asked once for each
// version.
func (s *Stack) Outcome(id storage.ID, stored bool) Outcome {
	planned := s.Plan(id.Version)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, weak := s.weak[id]
	delete(s.weak, id)
	o := Outcome{Level: s.Possible(planned.Node), Spilled: s.sent[id]}
	switch {
	case !stored:
		o.Level = storage.Captured
	case weak:
		o.Level = storage.Local
	}
	return o
}

// Settled tells, on all ranks alike, what became of a version.
func (s *Stack) Settled(h container.Header, o Outcome) {
	id, _ := storage.Identity(h)
	planned := s.Plan(id.Version)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed = storage.Plan{}
	if o.Level < s.Possible(planned.Node) {
		s.owed.Node = planned.Node
	}
	if o.Spilled {
		s.sent[id] = true
	}
	if o.Level == storage.Captured {
		s.owed.Flush = planned.Flush
		return
	}
	s.inv.info[id] = info{Level: planned.Node, Flush: planned.Flush, Oldest: h.Oldest}
	for rank := range h.Size {
		s.inv.add(ownKey(id, rank, h.Size), s.nodes.of[rank])
	}
	if o.Level > storage.Local && o.Level >= s.Possible(planned.Node) {
		s.noteProtection(id, h.Size, s.protections[planned.Node])
	}
	if planned.Flush {
		s.flusher.add(id)
	}
	s.forgetOld(id, h.Oldest)
}
