package stack

import (
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/nodelocal"
)

// LossStatus is what has become of a version of which parts are missing.
type LossStatus int

const (
	// Unclear: it was complete and has lost parts, or never was.
	Unclear LossStatus = iota
	// Lost: it was complete. It can be again, if nodes come back.
	Lost
	// Interrupted: it never was complete, and nothing is lost.
	Interrupted
)

// LossStatus tells what has become of a version that a Survey has found incomplete.
func (s *Stack) LossStatus(id storage.ID) LossStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.wasComplete(id):
		return Lost
	case s.notForNodes(id), s.nothingLost(id):
		return Interrupted
	}
	return Unclear
}

// wasComplete tells that a version is known to have been complete: the note says
// so, or its attempt has gone on to a newer one.
func (s *Stack) wasComplete(id storage.ID) bool {
	later := func(other storage.ID) bool { return other.Attempt == id.Attempt && other.Version > id.Version }
	if n := s.note.newest(); n != nil && (n.ID == id || later(n.ID)) {
		return true
	}
	return slices.ContainsFunc(s.inv.ids(), later)
}

// notForNodes tells that a version was written to the home alone, as its header says: no
// node has lost anything of it.
func (s *Stack) notForNodes(id storage.ID) bool {
	i, known := s.inv.info[id]
	return known && i.Plan.BelowHome() == 0
}

// nothingLost tells that the missing parts of a version were never written: the
// nodes of their ranks, as the note says, are here and have other parts of them.
func (s *Stack) nothingLost(id storage.ID) bool {
	was, ids, size := s.noted(), s.inv.ids(), s.inv.size(id)
	for rank := range size { // ends at the first one of which nobody knows
		part := storage.Part{Rank: rank, Size: size}
		hasNothing := func(n int) bool {
			return n < 0 || !slices.ContainsFunc(ids, func(other storage.ID) bool {
				return other != id && slices.Contains(s.inv.onNodes(other, nodelocal.KindPart, part), n)
			})
		}
		if !s.inv.recoverable(id, part, anywhere) && (len(was[rank]) == 0 || slices.ContainsFunc(was[rank], hasNothing)) {
			return false
		}
	}
	return true
}

// noted are the nodes on which the ranks were, as the note says: their numbers in
// this job, -1 if they are not in it.
func (s *Stack) noted() map[int][]int {
	type place struct{ host, dir string }
	here := make(map[place]int)
	for i, n := range s.nodes.list {
		here[place{n.Host, n.Dir}] = i
	}
	out := make(map[int][]int)
	for _, n := range s.note.Nodes {
		i, ok := here[place{n.Host, filepath.Dir(n.Dir)}]
		if !ok {
			i = -1
		}
		for _, rank := range n.Ranks {
			out[int(rank)] = append(out[int(rank)], i)
		}
	}
	return out
}
