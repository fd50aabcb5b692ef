package placement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/internal/memory"
	"github.com/craft-go/craft/storage/nodelocal"
)

// holdings is what one rank has in memory, its leader on the node, and rank 0 at home.
type holdings struct{ Memory, Node, Home catalog.Findings }

// surveyor finds out what is where.
type surveyor struct {
	name    string // of the checkpoint
	comm    *comm.Comm
	nodes   *nodes
	local   *nodelocal.Store
	memory  *memory.Objects
	home    storage.Driver
	log     *slog.Logger
	carried bool // only memory is looked at
}

// survey looks at all nodes and at home. It is collective; afterwards all ranks know
// the same.
func (s *surveyor) survey(ctx context.Context) (*catalog.Catalog, error) {
	var own holdings
	var problem error
	s.lookAtMemory(ctx, &own.Memory)
	if s.nodes.leads() && !s.carried {
		problem = s.lookAtNode(ctx, &own.Node)
	}
	if problem == nil && s.nodes.root() && !s.carried {
		problem = s.lookAtHome(ctx, &own.Home)
	}
	all, err := share(ctx, s.comm, "its node", own, problem)
	if err != nil {
		return nil, err
	}
	cat := catalog.New(s.nodes.ofRanks()...)
	for r, h := range all {
		cat.Merge(h.Home, catalog.Home)
		cat.Merge(h.Node, s.nodes.at(comm.Rank(r)))
		cat.Merge(h.Memory, catalog.MemoryOf(r))
	}
	return cat, cat.CheckFacts()
}

// lookAtNode lists what is on this node. What cannot be listed or read now is not gone:
// versions that cannot be had without it are away.
func (s *surveyor) lookAtNode(ctx context.Context, h *catalog.Findings) error {
	host := s.nodes.list[s.nodes.here()].Host
	objects, err := s.local.Inventory(ctx)
	var unlisted *nodelocal.UnlistedError
	switch {
	case errors.As(err, &unlisted):
		s.log.Warn("a version on the node cannot be listed, nothing of it there is used", "host", host, "error", err)
		for _, v := range unlisted.Versions {
			h.Away = append(h.Away, storage.Entry{ID: v.ID, Away: []string{fmt.Sprintf("on node %s it cannot be listed: %v", host, v.Err)}})
		}
	case err != nil:
		s.log.Warn("the storage of the node cannot be read, nothing of it is used", "host", host, "error", err)
		h.Unseen = fmt.Sprintf("the storage of node %s cannot be read: %v", host, err)
		return ctx.Err()
	}
	found := erasure.Findings(ctx, host, objects, s.local.OpenObject, func(key storage.ObjectKey, err error) {
		s.log.Warn("a parity file cannot be used", "object", key.String(), "error", err)
	})
	h.Objects, h.Sets, h.Away = found.Objects, found.Sets, append(h.Away, found.Away...)
	known := make(map[storage.ID]bool)
	for _, o := range objects {
		if o.Kind != storage.KindParity && !known[o.ID] {
			header, err := s.header(o.ID, o.Part, func() (storage.PartReader, error) { return s.local.OpenObject(ctx, o.ObjectKey) })
			known[o.ID] = h.Header(o.ID, header, err)
		}
	}
	return nil
}

// lookAtHome lists what the parallel file system has.
func (s *surveyor) lookAtHome(ctx context.Context, h *catalog.Findings) error {
	entries, err := s.home.List(ctx)
	if err != nil {
		return err
	}
	h.List(entries)
	for _, e := range entries {
		for _, part := range e.Parts {
			header, err := s.header(e.ID, part, func() (storage.PartReader, error) { return s.home.Open(ctx, e.ID, part) })
			if h.Header(e.ID, header, err) {
				break
			}
			if storage.Passing(err) {
				s.log.Warn("a part cannot be read", "path", s.home.Path(e.ID), "error", err)
			}
		}
	}
	return nil
}
