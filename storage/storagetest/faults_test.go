package storagetest_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/storagetest"
)

// inMemory is a driver to be wrapped.
func inMemory(t *testing.T, mem *vfs.Mem) storage.Driver {
	s, err := filestore.New(filestore.Config{Path: "/cp", Name: "test", FS: mem})
	require.NoError(t, err)
	return s
}

// prepared is one with a place.
func prepared(t *testing.T) storage.Driver {
	d := inMemory(t, vfs.NewMem())
	require.NoError(t, d.(storage.Preparer).Prepare(t.Context(), storage.Entry.Complete))
	return d
}

var (
	version = storage.ID{Version: 3}
	part    = storage.Part{Rank: 1, Size: 4}
)

// write writes a part as the portable code does.
func write(ctx context.Context, d storage.Driver, data string) error {
	w, err := d.Create(ctx, version, part)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, data); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit()
}

func read(ctx context.Context, d storage.Driver) (string, error) {
	r, err := d.Open(ctx, version, part)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
	return string(data), errors.Join(err, r.Close())
}

// deadline is for what comes at once, on a machine that has no time.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// A driver whose fault is not armed is as good as the one that it wraps.
func TestWithoutFaults(t *testing.T) {
	for name, wrap := range map[string]func(storage.Driver) storage.Driver{
		"failing": func(d storage.Driver) storage.Driver {
			return storagetest.Failing(d, func(storagetest.Op) error { return nil })
		},
		"slow":       func(d storage.Driver) storage.Driver { return storagetest.Slow(d, new(storagetest.Gate)) },
		"lost":       func(d storage.Driver) storage.Driver { return storagetest.Lost(d) },
		"full":       func(d storage.Driver) storage.Driver { return storagetest.Full(d, 100<<20) },
		"truncating": func(d storage.Driver) storage.Driver { return storagetest.Truncating(d, whole) },
		"flipping": func(d storage.Driver) storage.Driver {
			return storagetest.Flipping(d, func(storage.ID, storage.Part, int64) []int64 { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Opener {
				mem := vfs.NewMem()
				return func() storage.Driver { return wrap(inMemory(t, mem)) }
			})
			d := wrap(inMemory(t, vfs.NewMem()))
			require.NoError(t, d.(storage.Preparer).Prepare(t.Context(), storage.Entry.Complete))
			require.NoError(t, d.(storage.MetadataStore).WriteMetadata(t.Context(), "NODES.json", []byte("note")))
			note, err := d.(storage.MetadataStore).ReadMetadata(t.Context(), "NODES.json")
			require.NoError(t, err)
			require.Equal(t, "note", string(note))
		})
	}
}

func whole(_ storage.ID, _ storage.Part, size int64) int64 { return size }

// plain has none of the optional abilities.
type plain struct{ storage.Driver }

func TestAbilitiesThatAreMissing(t *testing.T) {
	d := storagetest.Failing(plain{inMemory(t, vfs.NewMem())}, func(storagetest.Op) error { return nil })
	require.NoError(t, d.(storage.Preparer).Prepare(t.Context(), nil))
	note, err := d.(storage.MetadataStore).ReadMetadata(t.Context(), "NODES.json")
	require.NoError(t, err)
	require.Nil(t, note)
}

func TestFailing(t *testing.T) {
	broken := errors.New("broken")
	for kind := storagetest.OpList; kind <= storagetest.OpClose; kind++ {
		t.Run(kind.String(), func(t *testing.T) {
			inner := inMemory(t, vfs.NewMem())
			var seen []storagetest.Op
			d := storagetest.Failing(inner, func(op storagetest.Op) error {
				if op.Kind == kind {
					seen = append(seen, op)
					if op.Number == 1 {
						return broken
					}
				}
				return nil
			})
			run := func() error {
				err := d.(storage.Preparer).Prepare(t.Context(), func(storage.Entry) bool { return true })
				if err == nil {
					err = write(t.Context(), d, "data")
				}
				if err == nil {
					_, err = read(t.Context(), d)
				}
				if err == nil {
					_, err = d.List(t.Context())
				}
				if w, createErr := d.Create(t.Context(), version, part); err == nil && createErr == nil {
					err = w.Abort()
				}
				if err == nil {
					err = d.Remove(t.Context(), version)
				}
				return err
			}
			require.NoError(t, run())
			for _, op := range seen {
				require.Less(t, op.Number, len(seen))
			}
			if len(seen) < 2 { // the second one fails
				require.ErrorIs(t, run(), broken)
			}
			require.Equal(t, 1, seen[1].Number)
			require.NotEmpty(t, seen[1].String())
			if kind > storagetest.OpRemove {
				require.Equal(t, version, seen[1].ID)
				require.Equal(t, part, seen[1].Part)
			}
			require.NoError(t, inner.Remove(t.Context(), version))
			require.NoError(t, run(), "the third one works")
		})
	}
}

// Whoever fails to commit leaves nothing.
func TestFailingCommit(t *testing.T) {
	mem := vfs.NewMem()
	inner := inMemory(t, mem)
	require.NoError(t, inner.(storage.Preparer).Prepare(t.Context(), storage.Entry.Complete))
	d := storagetest.Failing(inner, func(op storagetest.Op) error {
		if op.Kind == storagetest.OpCommit {
			return syscall.EIO
		}
		return nil
	})
	require.ErrorIs(t, write(t.Context(), d, "data"), syscall.EIO)
	require.Zero(t, mem.Used())
}

func TestSlow(t *testing.T) {
	var gate storagetest.Gate
	d := storagetest.Slow(prepared(t), &gate)
	gate.Shut(func(op storagetest.Op) bool { return op.Kind == storagetest.OpCommit })
	var group sync.WaitGroup
	var err error
	group.Go(func() { err = write(t.Context(), d, "data") })
	ops, awaitErr := gate.Await(deadline(t), 1)
	require.NoError(t, awaitErr)
	require.Equal(t, []storagetest.Op{{Kind: storagetest.OpCommit, ID: version, Part: part}}, ops)
	_, readErr := read(t.Context(), d)
	require.ErrorIs(t, readErr, storage.ErrNotFound, "others pass")
	gate.Open()
	group.Wait()
	require.NoError(t, err)
	text, err := read(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, "data", text)
}

func TestSlowEndsWithTheContext(t *testing.T) {
	var gate storagetest.Gate
	d := storagetest.Slow(prepared(t), &gate)
	ctx, cancel := context.WithCancelCause(t.Context())
	w, err := d.Create(ctx, version, part)
	require.NoError(t, err)
	gate.Shut(nil)
	var group sync.WaitGroup
	group.Go(func() { _, err = io.WriteString(w, "data") })
	_, awaitErr := gate.Await(deadline(t), 1)
	require.NoError(t, awaitErr)
	enough := errors.New("enough")
	cancel(enough)
	group.Wait()
	require.ErrorIs(t, err, enough)
	ops, err := gate.Await(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, ops)
	_, err = gate.Await(ctx, 1)
	require.ErrorIs(t, err, enough)
	gate.Open()
	require.NoError(t, w.Abort())
}

func TestSlowAndDeaf(t *testing.T) {
	gate := storagetest.Gate{Deaf: true}
	d := storagetest.Slow(prepared(t), &gate)
	ctx, cancel := context.WithCancel(t.Context())
	gate.Shut(func(op storagetest.Op) bool { return op.Kind == storagetest.OpCommit })
	var group sync.WaitGroup
	var err error
	group.Go(func() { err = write(ctx, d, "data") })
	_, awaitErr := gate.Await(deadline(t), 1)
	require.NoError(t, awaitErr)
	cancel()
	gate.Open()
	group.Wait()
	require.NoError(t, err, "it is done all the same")
}

func TestLost(t *testing.T) {
	d := storagetest.Lost(prepared(t))
	require.NoError(t, write(t.Context(), d, "old"))
	r, err := d.Open(t.Context(), version, part)
	require.NoError(t, err)
	half, err := d.Create(t.Context(), version, storage.Part{Rank: 2, Size: 4})
	require.NoError(t, err)
	thrownAway, err := d.Create(t.Context(), version, storage.Part{Rank: 3, Size: 4})
	require.NoError(t, err)
	require.NoError(t, d.Lose(t.Context()))

	entries, err := d.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, entries)
	_, err = read(t.Context(), d)
	require.ErrorIs(t, err, storage.ErrNotFound)
	_, err = r.ReadAt(make([]byte, 1), 0)
	require.ErrorIs(t, err, storage.ErrVanished)
	require.NoError(t, r.Close())
	_, err = half.Write([]byte("late"))
	require.ErrorIs(t, err, storage.ErrVanished)
	require.NoError(t, write(t.Context(), d, "new"))
	require.ErrorIs(t, half.Commit(), storage.ErrVanished)
	require.NoError(t, thrownAway.Abort())
	entries, err = d.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []storage.Entry{{ID: version, Parts: []storage.Part{part}}}, entries)
	text, err := read(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, "new", text, "a new node")
}

func TestFull(t *testing.T) {
	d := storagetest.Full(prepared(t), 10)
	require.NoError(t, write(t.Context(), d, "1234567"))
	require.ErrorIs(t, write(t.Context(), d, "89ab"), syscall.ENOSPC)
	require.EqualValues(t, 7, d.Used())
	require.NoError(t, write(t.Context(), d, "89a"), "it takes the other one's place")
	require.EqualValues(t, 3, d.Used())
	w, err := d.Create(t.Context(), version, storage.Part{Rank: 2, Size: 4})
	require.NoError(t, err)
	n, err := io.WriteString(w, "0123456789")
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, 7, n)
	d.SetCapacity(-1)
	_, err = io.WriteString(w, "789")
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	require.EqualValues(t, 13, d.Used())
	require.NoError(t, d.Remove(t.Context(), version))
	require.Zero(t, d.Used())
	require.NoError(t, write(t.Context(), d, "123"))
	require.NoError(t, d.Prepare(t.Context(), func(storage.Entry) bool { return false }))
	require.Zero(t, d.Used())
}

func TestDamage(t *testing.T) {
	inner := prepared(t)
	require.NoError(t, write(t.Context(), inner, "0123456789"))
	cut := storagetest.Truncating(inner, func(id storage.ID, p storage.Part, size int64) int64 {
		require.Equal(t, version, id)
		require.Equal(t, part, p)
		return size - 3
	})
	text, err := read(t.Context(), cut)
	require.NoError(t, err)
	require.Equal(t, "0123456", text)
	r, err := cut.Open(t.Context(), version, part)
	require.NoError(t, err)
	buf := make([]byte, 5)
	n, err := r.ReadAt(buf, 4)
	require.Equal(t, 3, n)
	require.ErrorIs(t, err, io.EOF)
	n, err = r.ReadAt(buf, 7)
	require.Zero(t, n)
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, r.Close())

	flipped := storagetest.Flipping(inner, func(storage.ID, storage.Part, int64) []int64 { return []int64{0, 8*9 + 1, 800} })
	text, err = read(t.Context(), flipped)
	require.NoError(t, err)
	require.Equal(t, "112345678;", text)
	r, err = flipped.Open(t.Context(), version, part)
	require.NoError(t, err)
	_, err = r.ReadAt(buf[:3], 7)
	require.NoError(t, err)
	require.Equal(t, "78;", string(buf[:3]))
	require.NoError(t, r.Close())
	text, err = read(t.Context(), inner)
	require.NoError(t, err)
	require.Equal(t, "0123456789", text, "only what is read is damaged")
}
