package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/craft-go/craft/storage"
)

var errGaveWay = fmt.Errorf("%w: what else is written needs the room of a spare copy", ErrLimit)

// CreateSpare is CreateObject for a copy that gives way when there is no room for anything else: it is beyond those that
// memory was to be enough for. After a failure it is like all others.
func (o *Objects) CreateSpare(ctx context.Context, key storage.ObjectKey) (storage.PartWriter, error) {
	w, err := o.create(ctx, key)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.coming[w] = true
	return &receiver{writer: w}, nil
}

// take returns extents, for which spare copies give way. Those of which it finds none may just have given way to
// another writer, or be about to be there: so it looks for room again, and for them as long as there are any.
func (w *writer) take(n int) ([]*extent, error) {
	x := w.objects.store.extents
	taken, err := x.take(n)
	for some := true; some && errors.Is(err, ErrLimit) && !w.objects.isComing(w); {
		some = w.objects.store.giveWay()
		taken, err = x.take(n)
	}
	return taken, err
}

// giveWay drops all spare copies, and reports whether there were any.
func (s *Store) giveWay() (some bool) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.of))
	s.mu.Unlock()
	for _, o := range all {
		some = o.giveWay() || some
	}
	if some {
		s.gaveWay.Store(true)
	}
	return some
}

// GaveWay reports whether spare copies, of any checkpoint of the rank, have given way since it was last called.
func (o *Objects) GaveWay() bool { return o.store.gaveWay.Swap(false) }

func (o *Objects) giveWay() bool {
	o.mu.Lock()
	coming := slices.Collect(maps.Keys(o.coming))
	o.mu.Unlock()
	for _, w := range coming { // first, so that none of them is published meanwhile
		w.mu.Lock()
		w.over = errGaveWay
		w.mu.Unlock()
		_ = w.Abort() // never fails
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	before := len(o.list)
	maps.DeleteFunc(o.list, func(_ storage.ObjectKey, made *object) bool {
		if made.spare {
			o.store.extents.giveBack(made.pieces)
		}
		return made.spare
	})
	return len(o.list) < before || len(coming) > 0
}

// keepSpare: what was spare is needed.
func (o *Objects) keepSpare() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, made := range o.list {
		made.spare = false
	}
	clear(o.coming)
}

func (o *Objects) isComing(w *writer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.coming[w]
}

// came: an object is written, or thrown away.
func (o *Objects) came(w *writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.coming, w)
}
