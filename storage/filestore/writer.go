package filestore

import (
	"context"
	"errors"

	"github.com/craft-go/craft/storage"
)

// Create implements storage.Driver.
func (s *Store) Create(_ context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	if s.vanished.Load() {
		if err := s.comeBack(); err != nil {
			return nil, err
		}
	}
	draft, err := s.Draft(id, part.String(), "."+part.String()+".tmp", s.missing)
	if err != nil {
		return nil, err
	}
	if err := s.remember(); err != nil {
		return nil, errors.Join(err, draft.Abort())
	}
	return writer{draft}, nil
}

// writer is a part under its hidden name.
type writer struct{ *Draft }

func (w writer) Commit() error {
	err := w.Draft.Commit()
	if err == nil {
		w.store.published(w.dir)
	}
	return err
}
