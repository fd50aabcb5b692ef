package manifest

import (
	"cmp"
	"context"
	"encoding/hex"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// Writer keeps the manifest of a job. All ranks know it, rank 0 writes it. Its methods may be
// called concurrently; nobody who asks for what it says waits for a file system.
type Writer struct {
	job Job

	writing sync.Mutex // held while the manifest is written
	mu      sync.Mutex
	last    Manifest // as it is at home
	found   Manifest // as it was when the job began
	stored  bool     // it is at home
}

// Job is what a manifest says of the job that writes it.
type Job struct {
	Home       storage.MetadataStore // nil: nothing is written
	Checkpoint string
	Policy     string
	Nodes      []Node
}

// NewWriter goes on with the manifest that a job has found, or has begun; stored tells which.
func NewWriter(found Manifest, stored bool) *Writer {
	return &Writer{last: found, found: found, stored: stored}
}

// Begin says for whom it is written, before anything is.
func (w *Writer) Begin(job Job) { w.job = job }

// Last is the manifest as it is at home.
func (w *Writer) Last() Manifest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// State is what it says.
func (w *Writer) State() State { return w.Last().State() }

// Stored reports whether it is at home.
func (w *Writer) Stored() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stored
}

// Announcement is what is new.
type Announcement struct {
	Newest *container.Header // nil: as before
	Levels storage.Levels    // of Newest
	// Reserved is the highest number that its attempt may have used; zero: as before.
	Reserved storage.ID

	first    uint64 // that this attempt reserves; 0: as before
	takeOver bool   // it has used none yet
}

// Announce tells people and tools, and a restart that finds less, what the nodes
// hold: the newest version and who has it. Rank 0 calls it, now and then.
func (w *Writer) Announce(ctx context.Context, a Announcement) error {
	if w.job.Home == nil {
		return nil
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	last, found := w.last, w.found
	w.mu.Unlock()
	m := last.after(a, w.job, found)
	data, err := m.Encode()
	if err != nil {
		return err
	}
	if err := w.job.Home.WriteMetadata(ctx, Name, data); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.stored = m, true
	return nil
}

// after is the manifest with what a job announces, which began with the one that was found.
func (m Manifest) after(a Announcement, job Job, found Manifest) Manifest {
	m.Checkpoint, m.Policy, m.Updated = job.Checkpoint, job.Policy, time.Now().Truncate(time.Millisecond)
	m = m.withNodes(job.Nodes, a.Newest != nil)
	switch {
	case a.takeOver:
		m.Reserved, m.ReservedFrom, m.Nodes = a.Reserved.String(), a.first, found.Nodes
	case !a.Reserved.IsZero():
		m = m.withReserved(a.Reserved, cmp.Or(a.first, m.ReservedFrom), found)
	}
	if newest := a.Newest; newest != nil {
		id, _ := storage.Identity(*newest)
		m.Newest = &Version{Directory: id.String(), Lineage: hex.EncodeToString(newest.Lineage[:]), Levels: a.Levels, Ranks: newest.Size, Ancestors: storage.NoteAncestors(newest.Ancestors)}
		if newest.Iteration != container.NoIteration {
			m.Newest.Iteration = &newest.Iteration
		}
	}
	return m
}

// withReserved notes the highest number that an attempt may have used. If it has used none
// of those that it has reserved, from first on, that is what was found. Otherwise the attempt
// is going to store on all nodes by itself.
func (m Manifest) withReserved(last storage.ID, first uint64, found Manifest) Manifest {
	if last.Version < first {
		m.Reserved, m.ReservedFrom, m.Nodes = found.Reserved, found.ReservedFrom, found.Nodes
		return m
	}
	m.Reserved, m.ReservedFrom = last.String(), first
	m.Nodes = slices.Clone(m.Nodes)
	for i := range m.Nodes {
		m.Nodes[i].Healed = false
	}
	return m
}

// reservedAtLeast is how many numbers are reserved at a time, at least.
const reservedAtLeast = 100

// Reserve makes sure that the manifest says of the number of a version that it may have
// been used. Rank 0 calls it before it stores anything of the version: without its part
// the version is not complete.
func (w *Writer) Reserve(ctx context.Context, id storage.ID) error {
	m := w.Last()
	reserved, _ := m.reserved()
	first := m.ReservedFrom
	if reserved.Attempt != id.Attempt {
		first = id.Version
	} else if id.Version <= reserved.Version {
		return nil
	}
	more := max(reservedAtLeast, id.Version-first)
	reserved = storage.ID{Version: id.Version + min(more-1, math.MaxUint64-id.Version), Attempt: id.Attempt}
	return w.Announce(ctx, Announcement{Reserved: reserved, first: first})
}

// TakeOver notes for an attempt that begins, before anything is brought to any node,
// that what nodes have of the one before may be less than that has written; used is
// the highest number that may have been used until now. stores are the nodes of the job, by
// their numbers, that have parts of an attempt. Rank 0 calls it.
func (w *Writer) TakeOver(ctx context.Context, used storage.ID, stores func(container.AttemptID) []bool) error {
	before, _ := w.Last().reserved()
	if before.IsZero() {
		return nil
	}
	witness := w.witnesses(stores(before.Attempt))
	if !slices.Contains(witness, false) {
		return nil
	}
	w.markHealed(witness)
	return w.Announce(ctx, Announcement{Reserved: used, first: used.Version + 1, takeOver: true})
}

// GiveBack notes that an attempt has used no number beyond the last one. Rank 0 calls
// it at its end.
func (w *Writer) GiveBack(ctx context.Context, last storage.ID) error {
	if reserved, _ := w.Last().reserved(); reserved.Attempt != last.Attempt {
		return nil
	}
	return w.Announce(ctx, Announcement{Reserved: last})
}

// HasWitness reports whether a node that has parts of the attempt that reserved is a
// witness: no number is higher then than what is found.
func (w *Writer) HasWitness(stores []bool) bool { return slices.Contains(w.witnesses(stores), true) }

// witnesses are the nodes of the job, of those that store something, on which the attempt
// itself has stored it.
func (w *Writer) witnesses(stores []bool) []bool {
	m, out := w.Last(), make([]bool, len(w.job.Nodes))
	for i, n := range w.job.Nodes {
		out[i] = stores[i] && slices.ContainsFunc(m.Nodes, func(was Node) bool { return n.Same(was) && !was.Healed })
	}
	return out
}

// markHealed marks the nodes that are no witnesses for the case that the reserve is
// given back. What healing has brought to those that are new is found then, too.
func (w *Writer) markHealed(witness []bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found = w.found.withNodes(w.job.Nodes, false)
	for i, n := range w.found.Nodes {
		at := slices.IndexFunc(w.job.Nodes, n.Same)
		w.found.Nodes[i].Healed = n.Healed || at >= 0 && !witness[at]
	}
}
