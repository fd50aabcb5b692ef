package stack

import (
	"context"
	"math"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// The newest branch of a computation has the highest numbers, wherever its versions
// are. For that the note at home says how far numbers may have been used: whoever has
// not seen the versions of the attempt that was the last to use them, because its nodes
// are absent or the levels are not in use, goes on behind that. The note is ahead of
// the numbers by as many as the attempt has used, so that it is seldom written.
//
// Who has seen them is decided by witnesses: nodes on which the attempt itself has
// stored. What is brought to a node later, by a restart or by healing, is of an older
// version perhaps. So before anything is brought to a node that is no witness, the new
// attempt takes the reserve over, and one that ends without a version gives it back
// with such nodes marked.

// reservedAtLeast is how many numbers are reserved at a time, at least.
const reservedAtLeast = 100

// Reserve makes sure that the note says of the number of a version that it may have
// been used. Rank 0 calls it before it stores anything of the version: without its part
// the version is not complete.
func (s *Stack) Reserve(ctx context.Context, id storage.ID) error {
	n := s.lastNote()
	reserved, _ := n.reserved()
	first := n.ReservedFrom
	if reserved.Attempt != id.Attempt {
		first = id.Version
	} else if id.Version <= reserved.Version {
		return nil
	}
	more := max(reservedAtLeast, id.Version-first)
	reserved = storage.ID{Version: id.Version + min(more-1, math.MaxUint64-id.Version), Attempt: id.Attempt}
	return s.AnnounceNodes(ctx, Announcement{Reserved: reserved, first: first})
}

// TakeOver notes for an attempt that begins, before anything is brought to any node,
// that what nodes have of the one before may be less than that has written; used is
// the highest number that may have been used until now. Rank 0 calls it.
func (s *Stack) TakeOver(ctx context.Context, used storage.ID) error {
	n := s.lastNote()
	before, _ := n.reserved()
	if before.IsZero() || s.onlyWitnesses(before.Attempt) {
		return nil
	}
	s.markHealed(before.Attempt)
	return s.AnnounceNodes(ctx, Announcement{Reserved: used, first: used.Version + 1, takeOver: true})
}

// GiveBack notes that an attempt has used no number beyond the last one. Rank 0 calls
// it at its end.
func (s *Stack) GiveBack(ctx context.Context, last storage.ID) error {
	n := s.lastNote()
	if reserved, _ := n.reserved(); reserved.Attempt != last.Attempt {
		return nil
	}
	return s.AnnounceNodes(ctx, Announcement{Reserved: last})
}

// HasWitness tells whether a witness of an attempt is in this job. Since each of its
// nodes has parts of each of its versions, what is found then is all that there is: no
// number is higher.
func (s *Stack) HasWitness(attempt container.AttemptID) bool {
	return slices.Contains(s.witnesses(attempt), true)
}

func (s *Stack) onlyWitnesses(attempt container.AttemptID) bool {
	return !slices.Contains(s.witnesses(attempt), false)
}

// witnesses tells of each node of this job whether it is one.
func (s *Stack) witnesses(attempt container.AttemptID) []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]bool, len(s.nodes.list))
	for _, id := range s.cat.IDs() {
		if id.Attempt != attempt {
			continue
		}
		for _, n := range s.cat.NodesWith(id, storage.KindPart) {
			out[n] = out[n] || s.isNoted(int(n))
		}
	}
	return out
}

func (s *Stack) isNoted(number int) bool {
	is := s.nodes.list[number]
	return slices.ContainsFunc(s.note.Nodes, func(was storage.NotedNode) bool { return is.isThat(was) && !was.Healed })
}

// markHealed marks the nodes that are no witnesses for the case that the reserve is
// given back. What healing has brought to those that are new is found then, too.
func (s *Stack) markHealed(attempt container.AttemptID) {
	witness := s.witnesses(attempt)
	nodes := s.notedNodes(s.found.Nodes, false)
	for i := range nodes {
		number := slices.IndexFunc(s.nodes.list, func(is node) bool { return is.isThat(nodes[i]) })
		nodes[i].Healed = nodes[i].Healed || number >= 0 && !witness[number]
	}
	s.found.Nodes = nodes
}

// setReserved notes the highest number that an attempt may have used. If it has used none
// of those that it has reserved, from first on, that is what it has found.
func (n *note) setReserved(last storage.ID, first uint64, found note) {
	if last.Version < first {
		n.Reserved, n.ReservedFrom, n.Nodes = found.Reserved, found.ReservedFrom, found.Nodes
		return
	}
	n.take(last, first)
}

// take notes a number of an attempt, which is going to store on all nodes by itself.
func (n *note) take(last storage.ID, first uint64) {
	n.Reserved, n.ReservedFrom = last.String(), first
	n.Nodes = slices.Clone(n.Nodes)
	for i := range n.Nodes {
		n.Nodes[i].Healed = false
	}
}

func (n *note) reserved() (id storage.ID, ok bool) {
	if n.Reserved == "" {
		return id, true
	}
	return storage.ParseID(n.Reserved)
}
