package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/erasure"
)

// sourceName says where it is, for people.
func (s *Placement) sourceName(src catalog.Source) string {
	switch {
	case src.Parity:
		return "parity"
	case src.At == catalog.Home:
		return "the parallel file system"
	}
	n := s.nodes.list[src.At]
	return fmt.Sprintf("%v on host %s (%s)", src.Key.Kind, n.Host, n.Dir)
}

// sources lists where a part can be had, in the order in which it is tried.
func (s *Placement) sources(id storage.ID, part storage.Part) []catalog.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.cat.Sources(id, part, s.nodes.at(s.me))
	own := ownKey(id, int(s.me), len(s.nodes.of))
	if first := (catalog.Source{Key: own, At: s.nodes.at(s.me)}); s.own[id] && part == own.Part && !slices.Contains(all, first) {
		return slices.Insert(all, 0, first)
	}
	return all
}

func (s *Placement) openSource(ctx context.Context, src catalog.Source, id storage.ID, part storage.Part) (storage.PartReader, error) {
	switch {
	case src.Parity:
		return erasure.OpenRebuilt(ctx, id, part, s.members(id, part))
	case src.At == catalog.Home:
		return s.Home.Open(ctx, id, part)
	}
	return s.openObject(ctx, src.Key, src.At)
}

func (s *Placement) openObject(ctx context.Context, key storage.ObjectKey, node catalog.Place) (storage.PartReader, error) {
	if node == s.nodes.at(s.me) {
		return s.local.OpenObject(ctx, key)
	}
	return openRemote(ctx, s.pools[node], func() (storage.PartReader, error) {
		return s.service.Open(ctx, s.nodes.list[node].leader(), objectName(key))
	})
}

// members opens what the rebuilding of a part needs: parity, and parts that are
// somewhere; on the parallel file system only if the nodes do not suffice.
func (s *Placement) members(id storage.ID, part storage.Part) erasure.Open {
	s.mu.Lock()
	alone := s.cat.OnNodes().Rebuildable(id, part)
	s.mu.Unlock()
	return func(ctx context.Context, key storage.ObjectKey) (storage.PartReader, error) {
		if key.Kind == storage.KindPart {
			f, err := s.openFirst(ctx, key.ID, key.Part, func(src catalog.Source) bool { return !src.Parity && (src.At != catalog.Home || !alone) })
			if err != nil {
				return nil, err
			}
			return f.PartReader, nil
		}
		return s.openParity(ctx, key)
	}
}

func (s *Placement) openParity(ctx context.Context, key storage.ObjectKey) (storage.PartReader, error) {
	s.mu.Lock()
	at := s.cat.Nodes(key)
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
func (s *Placement) openFirst(ctx context.Context, id storage.ID, part storage.Part, want func(catalog.Source) bool) (*found, error) {
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
func (s *Placement) away(id storage.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if away := s.cat.Away(id); len(away) > 0 {
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
func (s *Placement) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	f, err := s.openFirst(ctx, id, part, nil)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// found is an open part.
type found struct {
	storage.PartReader

	s      *Placement
	ctx    context.Context
	id     storage.ID
	part   storage.Part
	first  catalog.Source
	rest   []catalog.Source
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
