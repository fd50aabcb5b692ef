package placement

import (
	"context"
	"fmt"
	"strings"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/internal/exchange"
	"github.com/craft-go/craft/storage/internal/memory"
	"github.com/craft-go/craft/storage/internal/remove"
	"github.com/craft-go/craft/storage/nodelocal"
)

// handler is what this rank does for the others.
type handler struct {
	home     storage.Driver
	local    *nodelocal.Store
	memory   *memory.Objects
	forget   func(storage.ID) // in memory
	overtake func(storage.ID) // forget what is older
	commands *commands
	remover  *remove.Remover
	cancel   func(storage.ID)
	schemes  schemes       // when ready
	ready    chan struct{} // closed when the schemes are there
	idle     *idleness
}

var _ exchange.Handler = (*handler)(nil)

func (h *handler) Create(ctx context.Context, from comm.Rank, name string) (storage.PartWriter, error) {
	h.idle.until(ctx) // which ends with the stream
	verb, rest, _ := strings.Cut(name, "/")
	switch verb {
	case verbMemory:
		key, newest, err := parseMemory(rest)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCommand, err)
		}
		if !newest.IsZero() { // this rank may not have come so far
			h.overtake(newest)
		}
		if key.Part.Size != h.commands.nodes.ranks() { // see healing.spread
			return h.memory.CreateSpare(ctx, key)
		}
		return h.memory.CreateObject(ctx, key, newest)
	case verbObject, verbAtHome:
		key, err := storage.ParseObjectKey(rest)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrCommand, err)
		case verb == verbObject:
			return h.local.CreateObject(ctx, key)
		}
		return command(func() error { // whether the home shows it to rank 0
			r, err := h.home.Open(ctx, key.ID, key.Part)
			if err != nil {
				return err
			}
			return r.Close()
		}), nil
	case verbRemove, verbForget, verbCancel, verbKept, verbFlushed, verbHealed:
		id, ok := storage.ParseID(rest)
		if !ok {
			return nil, fmt.Errorf("%w: %q", ErrCommand, name)
		}
		return command(func() error { return h.execute(ctx, verb, id) }), nil
	}
	select {
	case <-h.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for level, p := range h.schemes {
		if k, ok := p.scheme.(*erasure.Scheme); ok && verb == level.String() {
			return k.Handle(ctx, from, name)
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrCommand, name)
}

func (h *handler) Open(ctx context.Context, _ comm.Rank, name string) (storage.PartReader, error) {
	open := h.local.OpenObject
	verb, rest, _ := strings.Cut(name, "/")
	switch verb {
	case verbObject:
	case verbMemory:
		open = h.memory.OpenObject
	default:
		return nil, fmt.Errorf("%w: %q", ErrCommand, name)
	}
	key, err := storage.ParseObjectKey(rest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCommand, err)
	}
	h.idle.begin()
	r, err := open(ctx, key)
	if err != nil {
		h.idle.end()
		return nil, err
	}
	return &lent{r, h.idle}, nil
}

func (h *handler) execute(ctx context.Context, verb string, id storage.ID) error {
	switch verb {
	case verbRemove:
		return recognisable(h.local.Remove(ctx, id))
	case verbForget:
		h.forget(id)
	case verbCancel:
		h.cancel(id)
	case verbKept:
		if h.remover.Deleted(id) {
			return storage.ErrNotFound
		}
	default:
		h.commands.reported(report{verb, id})
	}
	return nil
}
