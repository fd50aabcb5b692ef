package placement

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"path/filepath"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/manifest"
)

// readManifest tells all ranks what the home says, and which job they are. A home without a
// manifest gets a new identity: what nodes may have of one that was deleted does not belong
// to it.
func (s *Placement) readManifest(ctx context.Context) error {
	var shared struct {
		Manifest manifest.Manifest
		Stored   bool
		Job      string
		Err      string
	}
	var problem error
	if home, ok := s.Home.(storage.MetadataStore); ok && s.root() {
		shared.Manifest, shared.Stored, problem = manifest.Read(ctx, home)
		if problem == nil && !shared.Stored {
			var id [8]byte
			_, _ = rand.Read(id[:]) // never fails
			shared.Manifest = manifest.New(hex.EncodeToString(id[:]))
		}
	}
	shared.Job, shared.Err = s.Job, text(problem)
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
	s.manifest, s.Job = manifest.NewWriter(shared.Manifest, shared.Stored), shared.Job
	return nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// beginManifest says what the manifest is to say of this job.
func (s *Placement) beginManifest() {
	job := manifest.Job{Checkpoint: s.Name, Policy: s.Policy.String(), Nodes: s.Nodes()}
	for i := range job.Nodes {
		job.Nodes[i].Dir = filepath.Join(job.Nodes[i].Dir, filepath.Base(s.local.Dir()))
	}
	if home, ok := s.Home.(storage.MetadataStore); ok {
		job.Home = home
	}
	s.manifest.Begin(job)
}

// Manifest is that of the nodes, for rank 0.
func (s *Placement) Manifest() *manifest.Writer { return s.manifest }

// TakeOver notes for an attempt that begins what may have been used before: see
// manifest.Writer.
func (s *Placement) TakeOver(ctx context.Context, used storage.ID) error {
	return s.manifest.TakeOver(ctx, used, s.storesOf)
}

// HasWitness reports whether a node on which an attempt itself has stored is in this job.
func (s *Placement) HasWitness(attempt container.AttemptID) bool {
	return s.manifest.HasWitness(s.storesOf(attempt))
}

// storesOf says of each node of this job whether it has parts of an attempt.
func (s *Placement) storesOf(attempt container.AttemptID) []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]bool, len(s.nodes.list))
	for _, id := range s.cat.IDs() {
		if id.Attempt != attempt {
			continue
		}
		for _, n := range s.cat.NodesWith(id, storage.KindPart) {
			out[n] = true
		}
	}
	return out
}
