package memory

import (
	"context"
	"errors"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
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
	w := &everywhere{}
	var err error
	if w.own, err = s.Objects.CreateObject(ctx, storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: part}); err != nil {
		return nil, err
	}
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
	own    storage.PartWriter
	others []storage.PartWriter
}

var _ storage.Borrower = (*everywhere)(nil)

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
	}
	return nil
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
		running.Go(func() { errs[i] = other.Commit() })
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
