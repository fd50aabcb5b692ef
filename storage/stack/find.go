package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/nodelocal"
)

// source is a place where the bytes of a part can be had.
type source struct {
	kind place
	key  nodelocal.Key // of an object on a node
	node int
}

type place int

const (
	onNode place = iota
	atHome
	rebuilt
)

// sourceName says where it is, for people.
func (s *Stack) sourceName(src source) string {
	switch src.kind {
	case atHome:
		return "the parallel file system"
	case rebuilt:
		return "parity"
	}
	return fmt.Sprintf("%v on host %s (%s)", src.key.Kind, s.nodes.list[src.node].Host, s.nodes.list[src.node].Dir)
}

// sources lists where a part can be had: this node, other nodes, what parity on
// the nodes gives back, the home, and what parity gives back with its help. The
// parallel file system comes behind all that the nodes can do alone, because all
// jobs share it.
func (s *Stack) sources(id storage.ID, part storage.Part) []source {
	s.mu.Lock()
	defer s.mu.Unlock()
	var near, far []source
	own, here := ownKey(id, int(s.me), len(s.nodes.of)), s.nodes.mine(s.me)
	if s.own[id] && part == own.Part && !slices.Contains(s.inv.holders(own), here) {
		near = append(near, source{onNode, own, here})
	}
	for _, kind := range []nodelocal.Kind{nodelocal.KindPart, nodelocal.KindCopy} {
		key := nodelocal.Key{ID: id, Kind: kind, Part: part}
		for _, n := range s.inv.holders(key) {
			if n == here {
				near = append(near, source{onNode, key, n})
			} else {
				far = append(far, source{onNode, key, n})
			}
		}
	}
	all := append(near, far...)
	alone := s.inv.rebuildable(id, part, onANode)
	if alone {
		all = append(all, source{kind: rebuilt})
	}
	if s.inv.atHome(id, part) {
		all = append(all, source{kind: atHome})
	}
	if !alone && s.inv.rebuildable(id, part, anywhere) {
		all = append(all, source{kind: rebuilt})
	}
	return all
}

func (s *Stack) openSource(ctx context.Context, src source, id storage.ID, part storage.Part) (storage.PartReader, error) {
	switch src.kind {
	case atHome:
		return s.Home.Open(ctx, id, part)
	case rebuilt:
		return erasure.OpenRebuilt(ctx, id, part, s.members(id, part))
	}
	return s.openObject(ctx, src.key, src.node)
}

func (s *Stack) openObject(ctx context.Context, key nodelocal.Key, node int) (storage.PartReader, error) {
	if node == s.nodes.mine(s.me) {
		return s.local.OpenObject(ctx, key)
	}
	return openRemote(ctx, s.lenders[node], func() (storage.PartReader, error) {
		return s.service.Open(ctx, s.nodes.list[node].leader(), objectName(key))
	})
}

// members opens what the rebuilding of a part needs: parity, and parts that are
// somewhere; on the parallel file system only if the nodes do not suffice.
func (s *Stack) members(id storage.ID, part storage.Part) erasure.Open {
	s.mu.Lock()
	alone := s.inv.rebuildable(id, part, onANode)
	s.mu.Unlock()
	return func(ctx context.Context, key nodelocal.Key) (storage.PartReader, error) {
		if key.Kind == nodelocal.KindPart {
			f, err := s.openFirst(ctx, key.ID, key.Part, func(src source) bool { return src.kind == onNode || src.kind == atHome && !alone })
			if err != nil {
				return nil, err
			}
			return f.PartReader, nil
		}
		return s.openParity(ctx, key)
	}
}

func (s *Stack) openParity(ctx context.Context, key nodelocal.Key) (storage.PartReader, error) {
	s.mu.Lock()
	at := s.inv.holders(key)
	s.mu.Unlock()
	var failed attempts
	for _, n := range at {
		r, err := s.openObject(ctx, key, n)
		if err == nil {
			return r, nil
		}
		failed.add(err)
	}
	failed.add(s.away(key.ID))
	return nil, failed.err(key.String())
}

// openFirst opens the first source that can be opened, of those wanted.
func (s *Stack) openFirst(ctx context.Context, id storage.ID, part storage.Part, want func(source) bool) (*found, error) {
	var failed attempts
	all := s.sources(id, part)
	for i, src := range all {
		if want != nil && !want(src) {
			continue
		}
		r, err := s.openSource(ctx, src, id, part)
		if err == nil {
			return &found{PartReader: r, s: s, ctx: ctx, id: id, part: part, first: src, rest: all[i+1:], failed: failed}, nil
		}
		failed.add(err)
		if ctx.Err() != nil {
			break
		}
	}
	failed.add(s.away(id))
	return nil, failed.err(fmt.Sprintf("%v of %v", part, id))
}

// away says what of a version the home or a node cannot show now: its bytes may be there
// later, whatever the parts are called.
func (s *Stack) away(id storage.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if away := slices.Concat(s.inv.away[id], s.inv.unseen); len(away) > 0 {
		return errors.New(strings.Join(away, "; "))
	}
	return nil
}

// attempts are the errors of the places that were tried. What is not there does
// not count where something else went wrong: the bytes may be there later.
type attempts struct{ gone, failed []error }

func (a *attempts) add(err error) {
	switch {
	case err == nil:
	case errors.Is(err, storage.ErrNotFound):
		a.gone = append(a.gone, err)
	default:
		a.failed = append(a.failed, err)
	}
}

func (a *attempts) none() bool { return len(a.gone)+len(a.failed) == 0 }

func (a *attempts) err(what string) error {
	switch {
	case len(a.failed) > 0:
		return storage.JoinPlaces(a.failed...)
	case len(a.gone) > 0:
		return storage.JoinPlaces(a.gone...)
	}
	return fmt.Errorf("%s: %w on any node or on the parallel file system", what, storage.ErrNotFound)
}

// Open implements storage.Driver: the bytes of a part, wherever they are. The
// reader is a storage.Redundant: it knows where else they are.
func (s *Stack) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	f, err := s.openFirst(ctx, id, part, nil)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// found is an open part.
type found struct {
	storage.PartReader

	s      *Stack
	ctx    context.Context
	id     storage.ID
	part   storage.Part
	first  source
	rest   []source
	opened []storage.PartReader // of rest
	failed attempts             // those that could not be opened
	told   bool                 // of them
}

// Another implements storage.Redundant. It is asked for because the first place
// is not good. When no place is left, the errors of those that could not be opened count:
// what is damaged in the others may be good there.
func (f *found) Another() (storage.PartReader, error) {
	f.s.noteTorn(f.first)
	for len(f.rest) > 0 {
		src := f.rest[0]
		f.rest = f.rest[1:]
		r, err := f.s.openSource(f.ctx, src, f.id, f.part)
		if err == nil {
			f.s.log.Warn("bytes of a part are taken from another place", "version", f.id.Version, "part", f.part.String(), "source", f.s.sourceName(src))
			f.opened = append(f.opened, r)
			return r, nil
		}
		f.failed.add(err)
	}
	if !f.told {
		f.failed.add(f.s.away(f.id))
	}
	if f.told || f.failed.none() {
		return nil, nil
	}
	f.told = true
	return nil, f.failed.err(fmt.Sprintf("%v of %v", f.part, f.id))
}

// Close closes all that was opened.
func (f *found) Close() error {
	err := f.PartReader.Close()
	for _, r := range f.opened {
		err = errors.Join(err, r.Close())
	}
	return err
}
