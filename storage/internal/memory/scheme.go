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

	apart sync.Map // of Others, those that cannot read the memory of this rank
}

// Create starts a part in all of these memories. Errors of the others are those of the streams,
// which name the rank and the object. ctx is for the whole life of the writer.
func (s *Scheme) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	own, err := s.Objects.create(ctx, storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: part})
	if err != nil {
		return nil, err
	}
	w := &sharing{own: own}
	name := s.ObjectName(storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: part})
	for _, rank := range s.Others {
		_, apart := s.apart.Load(rank)
		to := &sender{
			open:  func() (storage.PartWriter, error) { return s.Service.Create(ctx, rank, name) },
			apart: func() { s.apart.Store(rank, true) },
			reads: !apart,
		}
		if to.to, err = to.open(); err != nil {
			return nil, errors.Join(err, w.Abort())
		}
		w.others = append(w.others, to)
	}
	return w, nil
}

// CreateCopy starts a copy of any part in the memory of another rank.
func (s *Scheme) CreateCopy(ctx context.Context, id storage.ID, part storage.Part, rank comm.Rank) (storage.PartWriter, error) {
	to, err := s.Service.Create(ctx, rank, s.ObjectName(storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: part}))
	if err != nil {
		return nil, err
	}
	return lending{to}, nil
}

// lending is a copy whose bytes are sent: what is written to it otherwise are records.
type lending struct{ storage.PartWriter }

func (w lending) Write(p []byte) (int, error) {
	if err := errors.Join(storage.Borrow(w.PartWriter, p), storage.GiveBack(w.PartWriter)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Skip does nothing: nobody waits for a copy.
func (s *Scheme) Skip(context.Context, storage.ID, storage.Part) error { return nil }
