package storage_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
)

// manyPlaces is a driver whose parts are in several places, each with its fault; nil: none.
type manyPlaces struct {
	storage.Driver

	faults []error
}

func (d manyPlaces) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	r, err := d.Driver.Open(ctx, id, part)
	return &inPlaces{faulty{r, d.faults[0]}, d.faults[1:]}, err
}

type inPlaces struct {
	faulty
	rest []error
}

func (r *inPlaces) Another() (storage.PartReader, error) {
	if len(r.rest) == 0 {
		return nil, nil
	}
	next := faulty{r.PartReader, r.rest[0]}
	r.rest = r.rest[1:]
	return next, nil
}

// faulty is a place where reading fails, or gives wrong bytes.
type faulty struct {
	storage.PartReader

	fault error
}

func (r faulty) ReadAt(p []byte, off int64) (int, error) {
	switch r.fault {
	case nil:
		return r.PartReader.ReadAt(p, off)
	case storage.ErrDamaged:
		clear(p)
		return len(p), nil
	}
	return 0, r.fault
}

// A header is that of the first place where it is good, whatever is wrong with those
// before. Without such a place it is damaged only if none may be good later.
func TestHeaderInManyPlaces(t *testing.T) {
	files, err := filestore.New(filestore.Config{Path: "/", Name: "cp", FS: vfs.NewMem()})
	require.NoError(t, err)
	require.NoError(t, files.Prepare(t.Context(), nil))
	store, err := storage.NewStore(files, container.Options{})
	require.NoError(t, err)
	_, err = store.Write(t.Context(), container.Header{Name: "cp", Version: 3, Size: 1}, nil, nil)
	require.NoError(t, err)
	bad := storage.ErrDamaged
	for _, c := range []struct {
		faults []error
		want   error
	}{
		{[]error{nil}, nil},
		{[]error{bad, nil}, nil},
		{[]error{syscall.EIO, nil}, nil},
		{[]error{bad, syscall.EIO, syscall.EACCES, nil}, nil},
		{[]error{bad, bad}, bad},
		{[]error{bad, syscall.EIO}, syscall.EIO},
		{[]error{syscall.EIO, bad}, syscall.EIO},
	} {
		store.Driver = manyPlaces{files, c.faults}
		h, err := store.Header(t.Context(), "cp", storage.ID{Version: 3}, storage.Part{Size: 1})
		if c.want == nil {
			require.NoError(t, err, "%v", c.faults)
			require.EqualValues(t, 3, h.Version)
			continue
		}
		require.ErrorIs(t, err, c.want, "%v", c.faults)
		require.Equal(t, c.want != bad, storage.Passing(err), "%v", c.faults)
	}
}
