package placement

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/nodelocal"
)

// holdings is what one node has, and, of rank 0, what the home has.
type holdings struct {
	Node, Home catalog.Findings
	Err        string
}

// Sweep deletes what killed processes have left half-written on the nodes. It is
// collective: nobody writes there before all have come back from it.
func (s *Placement) Sweep(ctx context.Context) error {
	if s.nodes.leads(s.me) {
		if err := s.local.Prepare(ctx, func(storage.Entry) bool { return true }); err != nil {
			s.log.Warn("the storage of the node cannot be cleaned", "directory", s.local.Dir(), "error", err)
		}
	}
	return comm.Barrier(ctx, s.Comm)
}

// Survey finds out what is where. It is collective; afterwards all ranks know
// the same.
func (s *Placement) Survey(ctx context.Context) error {
	var own holdings
	var problem error
	if s.nodes.leads(s.me) {
		problem = s.lookAtNode(ctx, &own.Node)
	}
	if problem == nil && s.root() {
		problem = s.lookAtHome(ctx, &own.Home)
	}
	own.Err = text(problem)
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(own); err != nil {
		return err
	}
	all, err := comm.AllgatherBytes(ctx, s.Comm, b.Bytes())
	switch {
	case err != nil:
		return err
	case problem != nil:
		return problem
	}
	cat := catalog.New()
	for r, data := range all {
		var h holdings
		if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&h); err != nil {
			return fmt.Errorf("what rank %d says of its node: %w", r, err)
		}
		if h.Err != "" {
			return &RankError{Rank: comm.Rank(r), Text: h.Err}
		}
		cat.Merge(h.Home, catalog.Home)
		cat.Merge(h.Node, s.nodes.at(comm.Rank(r)))
	}
	if err := cat.CheckFacts(); err != nil {
		return err
	}
	s.mu.Lock()
	s.cat = cat
	s.mu.Unlock()
	return nil
}

// lookAtNode lists what is on this node. What cannot be listed or read now is not gone:
// versions that cannot be had without it are away.
func (s *Placement) lookAtNode(ctx context.Context, h *catalog.Findings) error {
	host := s.nodes.list[s.nodes.mine(s.me)].Host
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
	known := make(map[storage.ID]bool)
	for _, o := range objects {
		if o.Kind == storage.KindParity {
			set, err := s.readSet(ctx, o)
			if err != nil {
				s.log.Warn("a parity file cannot be used", "object", o.ObjectKey.String(), "error", err)
				if storage.Passing(err) && !errors.Is(err, erasure.ErrMismatch) {
					h.Away = append(h.Away, storage.Entry{ID: o.ID, Away: []string{fmt.Sprintf("on node %s a parity file cannot be read: %v", host, err)}})
				}
				continue
			}
			h.Sets = append(h.Sets, catalog.SetOf{ID: o.ID, Set: set})
		} else if !known[o.ID] {
			header, err := s.readHeader(ctx, s.local.Of(o.Kind), o.ID, o.Part)
			known[o.ID] = h.Header(o.ID, header, err)
		}
		h.Objects = append(h.Objects, o.ObjectKey)
	}
	return nil
}

func (s *Placement) readSet(ctx context.Context, o nodelocal.Object) (catalog.Set, error) {
	r, err := s.local.OpenObject(ctx, o.ObjectKey)
	if err != nil {
		return catalog.Set{}, err
	}
	defer r.Close()
	return erasure.ReadSet(r, o.ObjectKey)
}

func (s *Placement) readHeader(ctx context.Context, d storage.Driver, id storage.ID, part storage.Part) (h container.Header, err error) {
	r, err := d.Open(ctx, id, part)
	if err != nil {
		return h, err
	}
	defer r.Close()
	if h, err = container.ReadHeader(r, r.Size()); err == nil {
		err = storage.CheckIdentity(h, s.Name, id, part)
	}
	return h, err
}

// lookAtHome lists what the parallel file system has.
func (s *Placement) lookAtHome(ctx context.Context, h *catalog.Findings) error {
	entries, err := s.Home.List(ctx)
	if err != nil {
		return err
	}
	h.List(entries)
	for _, e := range entries {
		for _, part := range e.Parts {
			header, err := s.readHeader(ctx, s.Home, e.ID, part)
			if h.Header(e.ID, header, err) {
				break
			}
			if storage.Passing(err) {
				s.log.Warn("a part cannot be read", "path", s.Home.Path(e.ID), "error", err)
			}
		}
	}
	return nil
}

// List implements storage.Driver, with what the last Survey has found: a part is
// there if it can be had from anywhere.
func (s *Placement) List(context.Context) ([]storage.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []storage.Entry
	for _, id := range s.cat.IDs() {
		out = append(out, s.cat.Entry(id))
	}
	return out, nil
}

// Path implements storage.Driver: where the home has a version, or this node.
func (s *Placement) Path(id storage.ID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id.IsZero() || s.cat.HomeAlone().Any(id) || s.local == nil {
		return s.Home.Path(id)
	}
	return s.local.Path(id)
}
