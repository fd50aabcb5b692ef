package placement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/internal/exchange"
	"github.com/craft-go/craft/storage/internal/memory"
	"github.com/craft-go/craft/storage/nodelocal"
)

// finder opens the bytes of parts, wherever they are.
type finder struct {
	name     string // of the checkpoint
	home     storage.Driver
	local    *nodelocal.Store
	memory   *memory.Objects
	service  *exchange.Service
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
	if rank, ok := src.At.Rank(); ok {
		return fmt.Sprintf("%v in the memory of rank %d", src.Key.Kind, rank)
	}
	n := d.nodes.list[src.At]
	return fmt.Sprintf("%v on host %s (%s)", src.Key.Kind, n.Host, n.Root())
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

func (d *finder) openObject(ctx context.Context, key storage.ObjectKey, at catalog.Place) (storage.PartReader, error) {
	rank, inMemory := at.Rank()
	switch {
	case at == d.nodes.memory():
		return d.memory.OpenObject(ctx, key)
	case inMemory:
		return d.service.Open(ctx, comm.Rank(rank), memoryName(key))
	case at == d.nodes.here():
		return d.local.OpenObject(ctx, key)
	}
	return d.service.Open(ctx, d.nodes.leader(at), objectName(key))
}

// members opens what the rebuilding of a part needs: parity, and parts that are
// somewhere; on the parallel file system only if the nodes do not suffice.
func (d *finder) members(id storage.ID, part storage.Part) erasure.Open {
	alone := query(d.register, func(v catalog.View) bool { return v.OnNodes().Rebuildable(id, part) })
	return func(ctx context.Context, key storage.ObjectKey) (storage.PartReader, error) {
		if key.Kind == storage.KindPart {
			all := d.register.sources(key.ID, key.Part)
			return d.openFirst(ctx, key, slices.DeleteFunc(all, func(src catalog.Source) bool { return src.Parity || src.At == catalog.Home && alone }))
		}
		return d.openParity(ctx, key)
	}
}

// openParity opens parity in the places that have any under its name: it may be of several sets.
func (d *finder) openParity(ctx context.Context, key storage.ObjectKey) (storage.PartReader, error) {
	var places []func() (storage.PartReader, error)
	for _, n := range query(d.register, func(v catalog.View) []catalog.Place { return slices.Clone(v.Nodes(key)) }) {
		places = append(places, func() (storage.PartReader, error) { return d.openObject(ctx, key, n) })
	}
	return storage.OpenPlaces(ctx, append(places, d.nowhere(key)))
}

// nowhere stands behind the last place: something may be in one that cannot show it now.
func (d *finder) nowhere(key storage.ObjectKey) func() (storage.PartReader, error) {
	return func() (storage.PartReader, error) {
		if away := query(d.register, func(v catalog.View) []string { return v.Away(key.ID) }); len(away) > 0 {
			return nil, errors.New(strings.Join(away, "; "))
		}
		return nil, fmt.Errorf("%v: %w on any node or on the parallel file system", key, storage.ErrNotFound)
	}
}

// openFirst opens the first source of a part that can be opened; the others follow when its
// bytes are wrong.
func (d *finder) openFirst(ctx context.Context, key storage.ObjectKey, sources []catalog.Source) (storage.PartReader, error) {
	var last *catalog.Source // that was opened
	var places []func() (storage.PartReader, error)
	for _, src := range sources {
		places = append(places, func() (storage.PartReader, error) {
			d.register.noteTorn(last)
			r, err := d.openSource(ctx, src, key.ID, key.Part)
			if err == nil && last != nil {
				d.log.Warn("bytes of a part are taken from another place", "version", key.ID.Version, "part", key.Part.String(), "source", d.sourceName(src))
			}
			if err == nil {
				last = &src
			}
			return r, err
		})
	}
	return storage.OpenPlaces(ctx, append(places, func() (storage.PartReader, error) {
		d.register.noteTorn(last)
		return d.nowhere(key)()
	}))
}

// openVerified opens the first source of a part whose bytes are all right.
func (d *finder) openVerified(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	var places []func() (storage.PartReader, error)
	for _, src := range d.register.sources(id, part) {
		places = append(places, func() (storage.PartReader, error) {
			r, err := d.openSource(ctx, src, id, part)
			if err != nil {
				return nil, err
			}
			if err = d.verify(ctx, r, id, part); err == nil {
				return r, nil
			}
			_, inMemory := src.At.Rank() // where it may have been forgotten meanwhile
			if ctx.Err() == nil && !(inMemory && errors.Is(err, storage.ErrNotFound)) {
				d.log.Warn("bytes of a part are wrong", "version", id.Version, "part", part.String(), "source", d.sourceName(src), "error", err)
			}
			return nil, errors.Join(err, r.Close())
		})
	}
	return storage.OpenPlaces(ctx, append(places, d.nowhere(catalog.PartOf(id, part))))
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
