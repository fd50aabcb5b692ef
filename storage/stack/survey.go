package stack

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/nodelocal"
)

// holdings is what one node has, and, of rank 0, what the home has.
type holdings struct {
	Objects []nodelocal.Key
	Infos   []knownInfo
	Sets    []knownSet
	Home    []storage.Entry
	Away    []storage.Entry // versions that the node may have, without parts
	Unread  []unread        // versions of which no header could be read
	Unseen  string          // why it cannot be seen what the node has; "": it can
	Err     string
}

type knownInfo struct {
	ID   storage.ID
	Info info
}

// unread says why the headers of a version cannot be read now.
type unread struct {
	ID  storage.ID
	Why string
}

type knownSet struct {
	ID  storage.ID
	Set set
}

// Sweep deletes what killed processes have left half-written on the nodes. It is
// collective: nobody writes there before all have come back from it.
func (s *Stack) Sweep(ctx context.Context) error {
	if s.nodes.leads(s.me) {
		if err := s.local.Prepare(ctx, func(storage.Entry) bool { return true }); err != nil {
			s.log.Warn("the storage of the node cannot be cleaned", "directory", s.local.Dir(), "error", err)
		}
	}
	return comm.Barrier(ctx, s.Comm)
}

// Survey finds out what is where. It is collective; afterwards all ranks know
// the same.
func (s *Stack) Survey(ctx context.Context) error {
	var own holdings
	var problem error
	if s.nodes.leads(s.me) {
		problem = s.lookAtNode(ctx, &own)
	}
	if problem == nil && s.root() {
		problem = s.lookAtHome(ctx, &own)
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
	inv := newInventory()
	for r, data := range all {
		var h holdings
		if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&h); err != nil {
			return fmt.Errorf("what rank %d says of its node: %w", r, err)
		}
		if h.Err != "" {
			return &RankError{Rank: comm.Rank(r), Text: h.Err}
		}
		inv.merge(h, s.nodes.of[r])
	}
	if err := inv.withoutHeader(); err != nil {
		return err
	}
	s.mu.Lock()
	s.inv = inv
	s.mu.Unlock()
	return nil
}

func (v *inventory) merge(h holdings, node int) {
	for _, key := range h.Objects {
		v.add(key, node)
	}
	for _, e := range h.Home {
		for _, part := range e.Parts {
			v.addHome(e.ID, part)
		}
		if len(e.Away) > 0 {
			v.away[e.ID] = append(v.away[e.ID], e.Away...)
		}
	}
	for _, e := range h.Away {
		v.away[e.ID] = append(v.away[e.ID], e.Away...)
	}
	if h.Unseen != "" {
		v.unseen = append(v.unseen, h.Unseen)
	}
	for _, u := range h.Unread {
		v.unread[u.ID] = u.Why
	}
	for _, k := range h.Infos {
		if _, known := v.info[k.ID]; !known {
			v.info[k.ID] = k.Info
		}
	}
	for _, k := range h.Sets {
		v.addSet(k.ID, k.Set)
	}
}

// withoutHeader returns an error if no header of a version that can be had could be read,
// and one may be read later: nothing tells then what the version refers to.
func (v *inventory) withoutHeader() error {
	for _, id := range v.ids() {
		_, known := v.info[id]
		if why := v.unread[id]; why != "" && !known && v.complete(id) {
			return fmt.Errorf("version %d: none of its headers can be read now: %s", id.Version, why)
		}
	}
	return nil
}

// lookAtNode lists what is on this node. What cannot be listed or read now is not gone:
// versions that cannot be had without it are away.
func (s *Stack) lookAtNode(ctx context.Context, h *holdings) error {
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
		if o.Kind == nodelocal.KindParity {
			set, err := s.readSet(ctx, o)
			if err != nil {
				s.log.Warn("a parity file cannot be used", "object", o.Key.String(), "error", err)
				if storage.Passing(err) && !errors.Is(err, erasure.ErrMismatch) {
					h.Away = append(h.Away, storage.Entry{ID: o.ID, Away: []string{fmt.Sprintf("on node %s a parity file cannot be read: %v", host, err)}})
				}
				continue
			}
			h.Sets = append(h.Sets, knownSet{o.ID, set})
		} else if !known[o.ID] {
			known[o.ID] = h.learn(s.readInfo(ctx, s.local.Of(o.Kind), o.ID, o.Part))
		}
		h.Objects = append(h.Objects, o.Key)
	}
	return nil
}

// learn enters what a header says, or why it cannot be read now. It reports whether it has
// been read.
func (h *holdings) learn(k knownInfo, err error) bool {
	switch {
	case err == nil:
		h.Infos = append(h.Infos, k)
	case storage.Passing(err):
		h.Unread = append(h.Unread, unread{k.ID, err.Error()})
	}
	return err == nil
}

func (s *Stack) readSet(ctx context.Context, o nodelocal.Object) (set, error) {
	r, err := s.local.OpenObject(ctx, o.Key)
	if err != nil {
		return set{}, err
	}
	defer r.Close()
	p, err := erasure.OpenParity(r, r.Size())
	if err != nil {
		return set{}, err
	}
	id, ranks, size, err := erasure.SetOf(p.Header())
	if err != nil {
		return set{}, err
	}
	if id != o.ID || size != o.Part.Size {
		return set{}, fmt.Errorf("it is of %v by %d ranks, it was copied or renamed: %w", id, size, erasure.ErrMismatch)
	}
	return set{Ranks: ranks, Size: size, Parity: p.Header().Layout.Parity, Holders: []int{o.Part.Rank}}, nil
}

func (s *Stack) readInfo(ctx context.Context, d storage.Driver, id storage.ID, part storage.Part) (knownInfo, error) {
	known := knownInfo{ID: id}
	r, err := d.Open(ctx, id, part)
	if err != nil {
		return known, err
	}
	defer r.Close()
	h, err := container.ReadHeader(r, r.Size())
	if err == nil {
		err = storage.CheckIdentity(h, s.Name, id, part)
	}
	known.Info = info{Plan: storage.Planned(h), Oldest: h.Oldest}
	return known, err
}

// lookAtHome lists what the parallel file system has.
func (s *Stack) lookAtHome(ctx context.Context, h *holdings) error {
	entries, err := s.Home.List(ctx)
	if err != nil {
		return err
	}
	h.Home = entries
	for _, e := range entries {
		for _, part := range e.Parts {
			known, err := s.readInfo(ctx, s.Home, e.ID, part)
			if h.learn(known, err) {
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
func (s *Stack) List(context.Context) ([]storage.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []storage.Entry
	for _, id := range s.inv.ids() {
		out = append(out, s.inv.entry(id))
	}
	storage.SortEntries(out)
	return out, nil
}

// Path implements storage.Driver: where the home has a version, or this node.
func (s *Stack) Path(id storage.ID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id.IsZero() || len(s.inv.home[id]) > 0 || s.local == nil {
		return s.Home.Path(id)
	}
	return s.local.Path(id)
}
