package placement

import (
	"context"
	"fmt"
	"strings"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/exchange"
)

// parityHolder is the part of a scheme that holds parity for others.
type parityHolder interface {
	Handle(ctx context.Context, from comm.Rank, name string) (storage.PartWriter, error)
	Close(ctx context.Context) error
}

// What other ranks ask for by name: "<verb>/<rest>". Data for a scheme has the
// name of its level, everything else is an object of this node, or a command.
const (
	verbObject  = "object"  // storage.ObjectKey: write or read it
	verbRemove  = "remove"  // version: delete all of it on this node
	verbCallOff = "calloff" // version: do not heal it, nor copy it to the home
	verbKept    = "kept"    // version: an error if it is deleted (to rank 0)
	verbFlushed = "flushed" // version: the sender has flushed its parts (to rank 0)
	verbHealed  = "healed"  // version: the sender has healed its part (to rank 0)
	verbAtHome  = "athome"  // storage.ObjectKey: an error if the home does not have it (to rank 0)
)

// handler is what this rank does for the others.
type handler struct{ *Placement }

var _ exchange.Handler = handler{}

func (h handler) Create(ctx context.Context, from comm.Rank, name string) (storage.PartWriter, error) {
	verb, rest, _ := strings.Cut(name, "/")
	switch verb {
	case verbObject:
		key, err := storage.ParseObjectKey(rest)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOrder, err)
		}
		return h.local.CreateObject(ctx, key)
	case verbAtHome:
		key, err := storage.ParseObjectKey(rest)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOrder, err)
		}
		return command(func() error { return h.atHome(ctx, key) }), nil
	case verbRemove, verbCallOff, verbKept, verbFlushed, verbHealed:
		id, ok := storage.ParseID(rest)
		if !ok {
			return nil, fmt.Errorf("%w: %q", ErrOrder, name)
		}
		return command(func() error { return h.execute(ctx, verb, id) }), nil
	}
	select {
	case <-h.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for level, k := range h.parity {
		if verb == level.String() {
			return k.Handle(ctx, from, name)
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrOrder, name)
}

func (h handler) Open(ctx context.Context, _ comm.Rank, name string) (storage.PartReader, error) {
	rest, ok := strings.CutPrefix(name, verbObject+"/")
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrOrder, name)
	}
	key, err := storage.ParseObjectKey(rest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOrder, err)
	}
	return h.local.OpenObject(ctx, key)
}

func (h handler) execute(ctx context.Context, verb string, id storage.ID) error {
	switch verb {
	case verbRemove:
		return recognisable(h.local.Remove(ctx, id))
	case verbCallOff:
		h.calledOff(id)
	case verbKept:
		if h.deleted(id) {
			return storage.ErrNotFound
		}
	default:
		h.reported(report{verb, id})
	}
	return nil
}

func objectName(key storage.ObjectKey) string { return verbObject + "/" + key.Name() }

// command is a request without data: its Commit does what is asked.
type command func() error

func (c command) Write(p []byte) (int, error) {
	return 0, fmt.Errorf("%w: it takes no data", ErrOrder)
}
func (c command) Commit() error { return c() }
func (c command) Abort() error  { return nil }

// call gives a command to another rank and waits until it is done.
func (s *Placement) call(ctx context.Context, to comm.Rank, verb string, id storage.ID) error {
	return s.callFor(ctx, to, verb+"/"+id.String())
}

func (s *Placement) callFor(ctx context.Context, to comm.Rank, name string) error {
	w, err := s.service.Create(ctx, to, name)
	if err != nil {
		return err
	}
	return w.Commit()
}
