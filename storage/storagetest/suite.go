package storagetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// Opener returns a driver over the same place each time it is called, as the
// processes of a job, or a restarted job, would have it.
type Opener func() storage.Driver

// Run tests a driver; place makes a new, empty place.
func Run(t *testing.T, place func(t *testing.T) Opener) {
	for name, test := range map[string]func(*testing.T, Opener){
		"an empty place has no versions":        testEmpty,
		"a part is there after its commit":      testCommit,
		"an aborted part leaves nothing":        testAbort,
		"a version is complete with all parts":  testComplete,
		"ranks write side by side":              testConcurrent,
		"a removed version is gone":             testRemove,
		"versions come in the order of numbers": testOrder,
		"two attempts never mix":                testAttempts,
		"a late writer of a removed version":    testLateWriter,
		"parts keep their bytes":                testBytes,
		"what is not there":                     testNotFound,
	} {
		t.Run(name, func(t *testing.T) { test(t, place(t)) })
	}
}

func id(version uint64, attempt byte) storage.ID {
	return storage.ID{Version: version, Attempt: container.AttemptID{attempt, 1, 2, 3}}
}

// prepare does what a job does before its first write.
func prepare(t *testing.T, d storage.Driver) {
	if p, ok := d.(storage.Preparer); ok {
		require.NoError(t, p.Prepare(context.Background(), storage.Entry.Complete))
	}
}

// begin writes a part that is not committed yet.
func begin(t *testing.T, d storage.Driver, id storage.ID, part storage.Part, data string) storage.PartWriter {
	t.Helper()
	w, err := d.Create(context.Background(), id, part)
	require.NoError(t, err)
	_, err = io.WriteString(w, data)
	require.NoError(t, err)
	return w
}

func write(t *testing.T, d storage.Driver, id storage.ID, part storage.Part, data string) {
	t.Helper()
	require.NoError(t, begin(t, d, id, part, data).Commit())
}

func read(t *testing.T, d storage.Driver, id storage.ID, part storage.Part) string {
	t.Helper()
	r, err := d.Open(context.Background(), id, part)
	require.NoError(t, err)
	defer r.Close()
	data := make([]byte, r.Size())
	if n, err := r.ReadAt(data, 0); n < len(data) {
		require.NoError(t, err)
	}
	return string(data)
}

func list(t *testing.T, d storage.Driver) []storage.Entry {
	t.Helper()
	entries, err := d.List(context.Background())
	require.NoError(t, err)
	return entries
}

func complete(t *testing.T, d storage.Driver) []storage.ID {
	t.Helper()
	var out []storage.ID
	for _, e := range list(t, d) {
		if e.Complete() {
			out = append(out, e.ID)
		}
	}
	return out
}

func testEmpty(t *testing.T, open Opener) {
	require.Empty(t, list(t, open()))
	prepare(t, open())
	require.Empty(t, list(t, open()))
}

func testCommit(t *testing.T, open Opener) {
	d := open()
	prepare(t, d)
	part := storage.Part{Rank: 0, Size: 1}
	w := begin(t, d, id(1, 7), part, "hello")
	require.Empty(t, complete(t, open()), "visible before its commit")
	_, err := open().Open(context.Background(), id(1, 7), part)
	require.ErrorIs(t, err, storage.ErrNotFound)
	require.NoError(t, w.Commit())
	require.Equal(t, []storage.ID{id(1, 7)}, complete(t, open()))
	_ = w.Abort() // a mistake of the caller: what is published stays
	require.Equal(t, "hello", read(t, open(), id(1, 7), part))
	require.NotEmpty(t, d.Path(id(1, 7)))
}

func testAbort(t *testing.T, open Opener) {
	d := open()
	prepare(t, d)
	require.NoError(t, begin(t, d, id(1, 7), storage.Part{Rank: 0, Size: 1}, "hello").Abort())
	require.Empty(t, complete(t, open()))
	write(t, d, id(2, 7), storage.Part{Rank: 0, Size: 1}, "next")
	require.Equal(t, []storage.ID{id(2, 7)}, complete(t, open()))
}

func testComplete(t *testing.T, open Opener) {
	prepare(t, open())
	for r := range 3 {
		require.Empty(t, complete(t, open()))
		write(t, open(), id(1, 7), storage.Part{Rank: r, Size: 3}, fmt.Sprint(r))
	}
	require.Equal(t, []storage.ID{id(1, 7)}, complete(t, open()))
	entries := list(t, open())
	require.Equal(t, []storage.Part{{Rank: 0, Size: 3}, {Rank: 1, Size: 3}, {Rank: 2, Size: 3}}, entries[0].Parts)
	require.Equal(t, 3, entries[0].Size())
}

func testConcurrent(t *testing.T, open Opener) {
	const ranks = 16
	prepare(t, open())
	var group sync.WaitGroup
	for r := range ranks {
		group.Go(func() {
			w, err := open().Create(context.Background(), id(1, 7), storage.Part{Rank: r, Size: ranks})
			if err == nil {
				_, err = fmt.Fprint(w, "rank ", r)
			}
			if err == nil {
				err = w.Commit()
			}
			if err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
		})
	}
	group.Wait()
	require.Equal(t, []storage.ID{id(1, 7)}, complete(t, open()))
	for r := range ranks {
		require.Equal(t, fmt.Sprint("rank ", r), read(t, open(), id(1, 7), storage.Part{Rank: r, Size: ranks}))
	}
}

func testRemove(t *testing.T, open Opener) {
	d := open()
	prepare(t, d)
	for v := uint64(1); v <= 3; v++ {
		write(t, d, id(v, 7), storage.Part{Rank: 0, Size: 1}, fmt.Sprint(v))
	}
	require.NoError(t, d.Remove(context.Background(), id(2, 7)))
	require.NoError(t, d.Remove(context.Background(), id(2, 7)), "a second time")
	require.Equal(t, []storage.ID{id(1, 7), id(3, 7)}, complete(t, open()))
	_, err := open().Open(context.Background(), id(2, 7), storage.Part{Rank: 0, Size: 1})
	require.ErrorIs(t, err, storage.ErrNotFound)
}

func testOrder(t *testing.T, open Opener) {
	d := open()
	prepare(t, d)
	versions := []uint64{1000000, 2, 999999, 10, 1, 12345678901}
	for _, v := range versions {
		write(t, d, id(v, 7), storage.Part{Rank: 0, Size: 1}, "")
	}
	var got []uint64
	for _, i := range complete(t, open()) {
		got = append(got, i.Version)
	}
	require.Equal(t, []uint64{1, 2, 10, 999999, 1000000, 12345678901}, got)
}

func testAttempts(t *testing.T, open Opener) {
	prepare(t, open())
	// The dead attempt 7 has written one half of version 5 and is late with the
	// other; attempt 8 writes its own version 5.
	late := begin(t, open(), id(5, 7), storage.Part{Rank: 1, Size: 2}, "old 1")
	write(t, open(), id(5, 8), storage.Part{Rank: 0, Size: 2}, "new 0")
	require.NoError(t, late.Commit())
	require.Empty(t, complete(t, open()))
	write(t, open(), id(5, 8), storage.Part{Rank: 1, Size: 2}, "new 1")
	require.Equal(t, []storage.ID{id(5, 8)}, complete(t, open()))
	require.Equal(t, "new 1", read(t, open(), id(5, 8), storage.Part{Rank: 1, Size: 2}))
}

func testLateWriter(t *testing.T, open Opener) {
	prepare(t, open())
	w := begin(t, open(), id(5, 7), storage.Part{Rank: 0, Size: 1}, "late")
	require.NoError(t, open().Remove(context.Background(), id(5, 7)))
	require.Error(t, w.Commit(), "the version was removed while it was written")
	require.Empty(t, complete(t, open()))
}

func testBytes(t *testing.T, open Opener) {
	d := open()
	prepare(t, d)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, 5<<20)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	w, err := d.Create(context.Background(), id(1, 7), storage.Part{Rank: 0, Size: 1})
	require.NoError(t, err)
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 1+rng.IntN(1<<20))
		got, err := w.Write(rest[:n])
		require.NoError(t, err)
		require.Equal(t, n, got)
		rest = rest[n:]
	}
	require.NoError(t, w.Commit())
	r, err := open().Open(context.Background(), id(1, 7), storage.Part{Rank: 0, Size: 1})
	require.NoError(t, err)
	defer r.Close()
	require.EqualValues(t, len(data), r.Size())
	for range 50 {
		off := rng.IntN(len(data))
		piece := make([]byte, min(rng.IntN(100000)+1, len(data)-off))
		_, err := r.ReadAt(piece, int64(off))
		if err != io.EOF {
			require.NoError(t, err)
		}
		require.True(t, bytes.Equal(data[off:off+len(piece)], piece), "bytes at %d", off)
	}
	n, err := r.ReadAt(make([]byte, 10), r.Size()-5)
	require.Equal(t, 5, n)
	require.ErrorIs(t, err, io.EOF)
}

func testNotFound(t *testing.T, open Opener) {
	d := open()
	_, err := d.Open(context.Background(), id(1, 7), storage.Part{Rank: 0, Size: 1})
	require.ErrorIs(t, err, storage.ErrNotFound)
	prepare(t, d)
	write(t, d, id(1, 7), storage.Part{Rank: 0, Size: 1}, "x")
	_, err = d.Open(context.Background(), id(1, 7), storage.Part{Rank: 0, Size: 2})
	require.ErrorIs(t, err, storage.ErrNotFound)
	require.NoError(t, d.Remove(context.Background(), id(9, 7)))
}
