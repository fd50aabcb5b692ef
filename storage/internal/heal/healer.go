package heal

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/craft-go/craft/storage"
)

// Placement is what a Healer asks of whoever knows where things are.
type Placement interface {
	// Bring makes sure that this node has a whole file of this rank's part.
	Bring(ctx context.Context, id storage.ID) error
	// Protect gives the part to what protects it at a level.
	Protect(ctx context.Context, id storage.ID, level storage.Level) error
	// Skip tells the others, who may wait for it, that the part is not given.
	Skip(id storage.ID, level storage.Level) error
	// Healed is told that this rank's share is done.
	Healed(ctx context.Context, id storage.ID) error
	// Deleted reports whether the version is deleted meanwhile.
	Deleted(id storage.ID) bool
}

// Work is what is to be done about a version.
type Work struct {
	ID   storage.ID
	Torn bool           // only this rank's file, or what Left says, is damaged
	Plan storage.Levels // that it was written for
	By   storage.Levels // whose schemes protect it now; none: nothing does
	// Left are those of By for which this rank's share is missing. Here: its part is on its
	// node. Without either there is nothing to do for this rank.
	Left storage.Levels
	Here bool
	// ParityStays: a part is read through the parity that there is, so that it must not
	// be made anew.
	ParityStays bool
}

// Options of a Healer.
type Options struct {
	// Around runs the body of what is done in the background.
	Around func(body func())
	Log    *slog.Logger // says whose part it is
}

// Healer heals versions, in the background. Its methods may be called concurrently.
type Healer struct {
	Options

	placement Placement
	ctx       context.Context
	running   sync.WaitGroup

	mu    sync.Mutex
	keeps map[storage.ID]lifetime
}

// lifetime is the time for which a version is kept.
type lifetime struct {
	ctx context.Context
	end context.CancelCauseFunc
}

// New returns a Healer that works until ctx ends.
func New(ctx context.Context, p Placement, o Options) *Healer {
	return &Healer{Options: o, placement: p, ctx: ctx, keeps: make(map[storage.ID]lifetime)}
}

// Heal does some work, one version after the other, and returns at once.
func (h *Healer) Heal(work []Work) {
	if len(work) == 0 {
		return
	}
	h.mu.Lock()
	contexts := make([]context.Context, len(work))
	for i, w := range work {
		contexts[i] = h.keptFor(w.ID)
	}
	h.mu.Unlock()
	h.running.Go(func() {
		h.Around(func() {
			for i, w := range work {
				if w.Torn {
					h.repair(contexts[i], w)
				} else {
					h.heal(contexts[i], w)
				}
			}
		})
	})
}

// keptFor is the context of what is done for a version: nothing is said of what fails
// because the version is deleted. The lock is held.
func (h *Healer) keptFor(id storage.ID) context.Context {
	k, known := h.keeps[id]
	if !known {
		k.ctx, k.end = context.WithCancelCause(h.ctx)
		h.keeps[id] = k
	}
	return k.ctx
}

// Wait waits until all is done that Heal was asked for.
func (h *Healer) Wait() { h.running.Wait() }

// Cancel ends what is done for a version that is deleted.
func (h *Healer) Cancel(id storage.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k, known := h.keeps[id]; known {
		k.end(storage.ErrCalledOff)
	}
}

// Canceled reports whether a version was canceled that this rank was to heal.
func (h *Healer) Canceled(id storage.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	k, known := h.keeps[id]
	return known && errors.Is(context.Cause(k.ctx), storage.ErrCalledOff)
}

// Forget calls a version off and drops what is known of it.
func (h *Healer) Forget(id storage.ID) {
	h.Cancel(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.keeps, id)
}

// repair writes this rank's file of a version anew, and those copies of it that are damaged.
func (h *Healer) repair(ctx context.Context, w Work) {
	err := h.placement.Bring(ctx, w.ID)
	for level := range w.Left.All() {
		if err == nil {
			err = h.placement.Protect(ctx, w.ID, level)
		}
	}
	switch {
	case err == nil:
		h.Log.Info("a damaged part was mended", "version", w.ID.Version)
	case ctx.Err() == nil:
		h.Log.Warn("a damaged part is not mended", "version", w.ID.Version, "error", err)
	}
}

var errParityStays = errors.New("a part is on no node as such: the parity that gives it back stays as it is, until the next restart")

func (h *Healer) heal(ctx context.Context, w Work) {
	var err error
	if !w.Here || w.Left != 0 {
		err = h.placement.Bring(ctx, w.ID)
	}
	if w.ParityStays {
		err = errors.Join(err, errParityStays)
	}
	for level := range w.Left.All() {
		switch {
		case w.ParityStays:
		case err == nil:
			err = h.placement.Protect(ctx, w.ID, level)
		default:
			err = errors.Join(err, h.placement.Skip(w.ID, level))
		}
	}
	log := h.Log.With("version", w.ID.Version, "level", w.Plan.String())
	switch {
	case err == nil && w.By != 0:
		log.Info("redundancy is back", "protected_by", w.By.String())
		if err := h.placement.Healed(ctx, w.ID); err != nil && ctx.Err() == nil {
			log.Debug("rank 0 does not know that redundancy is back", "error", err)
		}
	case err == nil:
		log.Info("the part is on its node again, nothing else protects it with these levels")
	case !h.placement.Deleted(w.ID) && ctx.Err() == nil:
		log.Warn("redundancy is not back: another loss of a node could cost the version", "error", err)
	}
}
