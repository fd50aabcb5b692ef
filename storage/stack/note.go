package stack

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
)

// note is the content of NODES.json at home.
type note struct {
	storage.NodesNote

	stored bool // it is at home
}

// readNote tells all ranks what the home says, and which job they are. A home without a
// note gets a new identity: what nodes may have of one that was deleted does not belong to it.
func (s *Stack) readNote(ctx context.Context) error {
	var data []byte
	var problem error
	if noter, ok := s.Home.(storage.Noter); ok && s.root() {
		data, problem = noter.Note(ctx, filestore.NodesName)
		if problem == nil && data != nil {
			problem = s.note.parse(data)
		}
		if problem != nil {
			s.note = note{}
		}
		if problem == nil && data == nil {
			var id [8]byte
			_, _ = rand.Read(id[:]) // never fails
			s.note = note{NodesNote: storage.NewNodesNote(hex.EncodeToString(id[:]))}
		}
	}
	s.note.stored = data != nil
	shared := struct {
		Note   note
		Stored bool
		Job    string
		Err    string
	}{s.note, s.note.stored, s.Job, text(problem)}
	data, err := json.Marshal(shared)
	if err != nil {
		return err
	}
	if data, err = comm.BcastBytes(ctx, s.Comm, 0, data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &shared); err != nil {
		return err
	}
	switch {
	case problem != nil:
		return problem
	case shared.Err != "":
		return &RankError{Rank: 0, Text: shared.Err}
	}
	s.note, s.note.stored, s.Job = shared.Note, shared.Stored, shared.Job
	s.found = s.note
	return nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (n *note) parse(data []byte) error {
	var err error
	n.NodesNote, err = storage.ParseNodesNote(data)
	if _, ok := n.reserved(); err == nil && !ok {
		err = fmt.Errorf("reserved %q is no name of a version", n.Reserved)
	}
	if err != nil {
		return fmt.Errorf("%w: %s in the checkpoint's directory cannot be understood (%w), and without it what the nodes hold cannot be found; if nothing on the nodes is needed, delete it", ErrConfig, filestore.NodesName, err)
	}
	return nil
}

// Announcement is what is new in the note.
type Announcement struct {
	Newest *container.Header // nil: as before
	Levels storage.Levels    // of Newest
	// Reserved is the highest number that its attempt may have used; zero: as before.
	Reserved storage.ID

	first    uint64 // that this attempt reserves; 0: as before
	takeOver bool   // it has used none yet
}

// AnnounceNodes tells people and tools, and a restart that finds less, what the nodes
// hold: the newest version and who has it. Rank 0 calls it, now and then. One that
// could not be written does not count.
func (s *Stack) AnnounceNodes(ctx context.Context, a Announcement) error {
	noter, ok := s.Home.(storage.Noter)
	if !ok {
		return nil
	}
	s.noting.Lock()
	defer s.noting.Unlock()
	n := s.lastNote()
	n.Checkpoint, n.Policy, n.Updated = s.Name, s.Policy.String(), time.Now().Truncate(time.Millisecond)
	n.Nodes = s.notedNodes(n.Nodes, a.Newest != nil)
	switch {
	case a.takeOver:
		n.Reserved, n.ReservedFrom, n.Nodes = a.Reserved.String(), a.first, s.found.Nodes
	case !a.Reserved.IsZero():
		n.setReserved(a.Reserved, cmp.Or(a.first, n.ReservedFrom), s.found)
	}
	if newest := a.Newest; newest != nil {
		id, _ := storage.Identity(*newest)
		n.Newest = &storage.NotedVersion{Directory: id.String(), Lineage: hex.EncodeToString(newest.Lineage[:]), Levels: a.Levels, Ranks: newest.Size, Ancestors: storage.NoteAncestors(newest.Ancestors)}
		if newest.Iteration != container.NoIteration {
			n.Newest.Iteration = &newest.Iteration
		}
	}
	data, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	if err := noter.PutNote(ctx, filestore.NodesName, append(data, '\n')); err != nil {
		return err
	}
	n.stored = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note = n
	return nil
}

// notedNodes are the nodes of this job. Those that have been noted stay in front of
// them, with the ranks that they had, until it has a version of its own: the newest one
// is on them.
func (s *Stack) notedNodes(before []storage.NotedNode, replace bool) []storage.NotedNode {
	if replace {
		before = nil
	}
	out := slices.Clone(before)
	for _, noted := range s.Nodes() {
		noted.Dir = filepath.Join(noted.Dir, filepath.Base(s.local.Dir()))
		at := slices.IndexFunc(before, func(o storage.NotedNode) bool { return o.Host == noted.Host && o.Dir == noted.Dir })
		if at < 0 {
			out = append(out, noted)
			continue
		}
		ranks := slices.Concat(before[at].Ranks, noted.Ranks)
		slices.Sort(ranks)
		out[at].Ranks = slices.Compact(ranks)
	}
	return out
}

// lastNote is the note as it is at home.
func (s *Stack) lastNote() note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.note
}
