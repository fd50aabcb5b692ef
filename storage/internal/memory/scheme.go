package memory

import (
	"context"
	"errors"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/internal/exchange"
)

// Scheme keeps the parts of this rank in its own memory and in that of others. Its methods may be
// called concurrently.
type Scheme struct {
	Objects *Objects
	Service *exchange.Service
	Others  []comm.Rank // that hold a copy each
	// ObjectName gives the name by which another rank is asked to keep an object.
	ObjectName func(storage.ObjectKey) string
}

// Create starts a part in all of these memories. Errors of the others are those of the streams,
// which name the rank and the object. ctx is for the whole life of the writer.
func (s *Scheme) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	own, err := s.Objects.create(ctx, storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: part})
	if err != nil {
		return nil, err
	}
	w := &everywhere{own: own}
	for _, rank := range s.Others {
		name := s.ObjectName(storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: part})
		other, err := s.Service.Create(ctx, rank, name)
		if err != nil {
			return nil, errors.Join(err, w.Abort())
		}
		w.others = append(w.others, other)
	}
	return w, nil
}

// Skip does nothing: nobody waits for a copy.
func (s *Scheme) Skip(context.Context, storage.ID, storage.Part) error { return nil }

// everywhere is a part on its way to all memories. It is there if it is in each of them.
type everywhere struct {
	own    *writer
	others []storage.PartWriter
	recipe recipe // for the others
}

var (
	_ storage.Borrower   = (*everywhere)(nil)
	_ container.Repeater = (*everywhere)(nil)
)

// piece is how many bytes are sent and then copied at a time: so few that they are still in
// the cache of the core.
const pieceSize = 1 << 20

func (w *everywhere) Write(p []byte) (int, error) {
	err := w.Borrow(p)
	if back := w.GiveBack(); err == nil {
		err = back
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Borrow implements storage.Borrower.
func (w *everywhere) Borrow(p []byte) error {
	for len(p) > 0 {
		next := p[:min(len(p), pieceSize)]
		p = p[len(next):]
		for _, other := range w.others {
			if err := storage.Borrow(other, next); err != nil {
				return err
			}
		}
		if _, err := w.own.Write(next); err != nil {
			return err
		}
		w.recipe.add(literal, len(next))
	}
	return nil
}

// Base implements container.Repeater: the others have it too, as all have kept it.
func (w *everywhere) Base(version uint64) bool {
	w.recipe.base = storage.ID{Version: version, Attempt: w.own.key.ID.Attempt}
	return w.own.pin(w.recipe.base)
}

// Repeat implements container.Repeater.
func (w *everywhere) Repeat(off int64, n int) error {
	w.recipe.add(off, n)
	return w.own.repeat(off, n)
}

// GiveBack implements storage.Borrower.
func (w *everywhere) GiveBack() (err error) {
	for _, other := range w.others {
		err = errors.Join(err, storage.GiveBack(other))
	}
	return err
}

// Commit publishes the part everywhere at the same time.
func (w *everywhere) Commit() error {
	errs := make([]error, len(w.others))
	var running sync.WaitGroup
	for i, other := range w.others {
		running.Go(func() {
			if errs[i] = w.recipe.send(other); errs[i] == nil {
				errs[i] = other.Commit()
			} else {
				_ = other.Abort()
			}
		})
	}
	err := w.own.Commit()
	running.Wait()
	return errors.Join(err, errors.Join(errs...))
}

// Abort throws it away.
func (w *everywhere) Abort() error {
	err := w.own.Abort()
	for _, other := range w.others {
		err = errors.Join(err, other.Abort())
	}
	return err
}
