package memory

import (
	"errors"
	"slices"
	"sync"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// sharing is a part on its way to all memories. It is there if it is in each of them.
type sharing struct {
	own    *writer
	others []*sender
	recipe recipe // for the others
	offers []room // that they do not know of
	bytes  int    // of these
}

var (
	_ storage.PartWriter = (*sharing)(nil)
	_ container.Repeater = (*sharing)(nil)
)

// pieceSize is how many bytes are copied at a time: so few that they stay in a cache of
// the processor, and so many that they are copied past it.
const pieceSize = 1 << 20

func (w *sharing) Write(p []byte) (int, error) {
	for next := range slices.Chunk(p, pieceSize) {
		rooms, err := w.own.room(len(next))
		if err != nil {
			return 0, err
		}
		w.own.into(slices.Clone(rooms))(next)
		w.recipe.add(literal, len(next))
		for _, room := range rooms {
			w.offers = adjoin(w.offers, room, pieceSize)
		}
		w.bytes += len(next)
		if w.bytes >= pieceSize {
			if err := w.tell(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// tell brings what the others do not know of.
func (w *sharing) tell() error {
	offers := w.offers
	w.offers, w.bytes = nil, 0
	for _, other := range w.others {
		if err := other.add(offers, w); err != nil {
			return err
		}
	}
	return nil
}

// Base implements container.Repeater: the others have it too, as all have kept it.
func (w *sharing) Base(version uint64) bool {
	w.recipe.base = storage.ID{Version: version, Attempt: w.own.key.ID.Attempt}
	return w.own.pin(w.recipe.base)
}

// Repeat implements container.Repeater.
func (w *sharing) Repeat(off int64, n int) error {
	w.recipe.add(off, n)
	return w.own.repeat(off, n)
}

// Commit publishes the part everywhere at the same time.
func (w *sharing) Commit() error {
	if err := w.tell(); err != nil {
		return errors.Join(err, w.Abort())
	}
	x := w.own.objects.store.extents
	pieces := w.own.made.pieces
	x.share(pieces) // the part may be forgotten before all have it
	defer func() { x.giveBack(pieces) }()
	errs := make([]error, len(w.others))
	var running sync.WaitGroup
	for i, other := range w.others {
		running.Go(func() { errs[i] = other.commit(w) })
	}
	err := w.own.Commit()
	running.Wait()
	return errors.Join(err, errors.Join(errs...))
}

// Abort throws it away: the own memory last, which the others may use.
func (w *sharing) Abort() (err error) {
	for _, other := range w.others {
		err = errors.Join(err, other.abort())
	}
	return errors.Join(err, w.own.Abort())
}
