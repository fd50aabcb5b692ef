package placement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/exchange"
	"github.com/craft-go/craft/storage/nodelocal"
)

// finder opens the bytes of parts, wherever they are.
type finder struct {
	name     string // of the checkpoint
	home     storage.Driver
	local    *nodelocal.Store
	service  *exchange.Service
	pools    []*streamPool // by node
	nodes    *nodes
	register *register
	log      *slog.Logger
}

// sourceName says where it is, for people.
func (d *finder) sourceName(src catalog.Source) string {
	switch {
	case src.Parity:
		return "parity"
	case src.At == catalog.Home:
		return "the parallel file system"
	}
	n := d.nodes.list[src.At]
	return fmt.Sprintf("%v on host %s (%s)", src.Key.Kind, n.Host, n.Dir)
}

func (d *finder) openSource(ctx context.Context, src catalog.Source, id storage.ID, part storage.Part) (storage.PartReader, error) {
	switch {
	case src.Parity:
		return erasure.OpenRebuilt(ctx, id, part, d.members(id, part))
	case src.At == catalog.Home:
		return d.home.Open(ctx, id, part)
	}
	return d.openObject(ctx, src.Key, src.At)
}

func (d *finder) openObject(ctx context.Context, key storage.ObjectKey, node catalog.Place) (storage.PartReader, error) {
	if node == d.nodes.here() {
		return d.local.OpenObject(ctx, key)
	}
	return openRemote(ctx, d.pools[node], func() (storage.PartReader, error) {
		return d.service.Open(ctx, d.nodes.list[node].leader(), objectName(key))
	})
}

// members opens what the rebuilding of a part needs: parity, and parts that are
// somewhere; on the parallel file system only if the nodes do not suffice.
func (d *finder) members(id storage.ID, part storage.Part) erasure.Open {
	alone := ask(d.register, func(v catalog.View) bool { return v.OnNodes().Rebuildable(id, part) })
	return func(ctx context.Context, key storage.ObjectKey) (storage.PartReader, error) {
		if key.Kind == storage.KindPart {
			f, err := d.openFirst(ctx, key.ID, key.Part, func(src catalog.Source) bool { return !src.Parity && (src.At != catalog.Home || !alone) })
			if err != nil {
				return nil, err
			}
			return f.PartReader, nil
		}
		return d.openParity(ctx, key)
	}
}

// openParity opens parity in the places that have any under its name: it may be of several sets.
func (d *finder) openParity(ctx context.Context, key storage.ObjectKey) (storage.PartReader, error) {
	var places []func() (storage.PartReader, error)
	for _, n := range ask(d.register, func(v catalog.View) []catalog.Place { return slices.Clone(v.Nodes(key)) }) {
		places = append(places, func() (storage.PartReader, error) { return d.openObject(ctx, key, n) })
	}
	places = append(places, func() (storage.PartReader, error) { // which may be what another place has
		return nil, cmp.Or(d.register.away(key.ID), fmt.Errorf("%v: %w", key, storage.ErrNotFound))
	})
	return erasure.OpenPlaces(places)
}

// openFirst opens the first source that can be opened, of those wanted.
func (d *finder) openFirst(ctx context.Context, id storage.ID, part storage.Part, want func(catalog.Source) bool) (*found, error) {
	var failed attempts
	all := d.register.sources(id, part)
	for i, src := range all {
		if want != nil && !want(src) {
			continue
		}
		r, err := d.openSource(ctx, src, id, part)
		if err == nil {
			return &found{PartReader: r, finder: d, ctx: ctx, id: id, part: part, last: src, rest: all[i+1:], failed: failed}, nil
		}
		failed.add(err)
		if ctx.Err() != nil {
			break
		}
	}
	failed.add(d.register.away(id))
	return nil, failed.err(fmt.Sprintf("%v of %v", part, id))
}

// openVerified opens the first source of a part whose bytes are all right.
func (d *finder) openVerified(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	var failed attempts
	for _, src := range d.register.sources(id, part) {
		r, err := d.openSource(ctx, src, id, part)
		if err == nil {
			if err = d.verify(ctx, r, id, part); err == nil {
				return r, nil
			}
			err = errors.Join(err, r.Close())
			if ctx.Err() != nil {
				return nil, err
			}
			d.log.Warn("bytes of a part are wrong", "version", id.Version, "part", part.String(), "source", d.sourceName(src), "error", err)
		}
		failed.add(err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed.err(fmt.Sprintf("%v of %v", part, id))
}

// verify reads every byte of what is to be a part of a version.
func (d *finder) verify(ctx context.Context, r storage.PartReader, id storage.ID, part storage.Part) error {
	c, err := container.Open(r, r.Size())
	if err == nil {
		err = storage.CheckIdentity(c.Header(), d.name, id, part)
	}
	if err != nil {
		return err
	}
	return c.VerifyAround(ctx, d.service.Around)
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

// found is an open part.
type found struct {
	storage.PartReader

	finder *finder
	ctx    context.Context
	id     storage.ID
	part   storage.Part
	last   catalog.Source // that was opened
	rest   []catalog.Source
	opened []storage.PartReader // of rest
	failed attempts             // those that could not be opened
	told   bool                 // of them
}

// Another implements storage.Redundant. It is asked for because the last place
// is not good. When no place is left, the errors of those that could not be opened count:
// what is damaged in the others may be good there.
func (f *found) Another() (storage.PartReader, error) {
	f.finder.register.noteTorn(f.last)
	for len(f.rest) > 0 {
		src := f.rest[0]
		f.rest = f.rest[1:]
		r, err := f.finder.openSource(f.ctx, src, f.id, f.part)
		if err == nil {
			f.finder.log.Warn("bytes of a part are taken from another place", "version", f.id.Version, "part", f.part.String(), "source", f.finder.sourceName(src))
			f.opened, f.last = append(f.opened, r), src
			return r, nil
		}
		f.failed.add(err)
	}
	if !f.told {
		f.failed.add(f.finder.register.away(f.id))
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
