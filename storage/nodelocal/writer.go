package nodelocal

import (
	"context"
	"crypto/rand"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// CreateObject starts an object. An object of the same key that is here stays
// until the new one's Commit puts it in its place.
func (s *Store) CreateObject(ctx context.Context, key storage.ObjectKey) (storage.PartWriter, error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := s.claim(ctx); err != nil {
		return nil, err
	}
	draft, err := s.files.Draft(key.ID, key.File(), hiddenName(key.File(), rand.Text()), s.vanished)
	if err != nil {
		return nil, s.recognise(err)
	}
	return writer{draft, s}, nil
}

// writer is an object under its hidden name.
type writer struct {
	*filestore.Draft

	store *Store
}

var _ storage.ReadBack = writer{}

func (w writer) Write(p []byte) (int, error) {
	n, err := w.Draft.Write(p)
	return n, w.store.recognise(err)
}

func (w writer) Commit() error { return w.store.recognise(w.Draft.Commit()) }
