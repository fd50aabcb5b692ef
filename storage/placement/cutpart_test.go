package placement

import (
	"bytes"
	"io"
	"log/slog"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// cutPart is a part whose file was cut after it was opened.
type cutPart struct {
	*bytes.Reader
	size int64
}

func (p cutPart) Size() int64 { return p.size }
func (cutPart) Close() error  { return nil }

// cutOwn is a part on a node that is full, and whose file has lost bytes.
type cutOwn struct{ storage.PartWriter }

func (cutOwn) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func (cutOwn) Written() (io.ReaderAt, int64) { return bytes.NewReader(make([]byte, 7)), 10 }

// A part that could not be read to its end is not published, not by healing nor when it is
// sent home: the files of all ranks would make a version of it that looks complete.
func TestACutPartIsNotPublished(t *testing.T) {
	for _, left := range []int{0, 7, 10, copyPiece, copyPiece + 1} {
		size := max(int64(left), 10)
		if left > 10 {
			size++
		}
		home, err := filestore.New(filestore.Config{Path: "/home", Name: "cp", FS: vfs.NewMem()})
		require.NoError(t, err)
		require.NoError(t, home.Prepare(t.Context(), nil))
		id, part := storage.ID{Version: 1}, storage.Part{Rank: 0, Size: 1}
		w, err := home.Create(t.Context(), id, part)
		require.NoError(t, err)
		err = copyWhole(t.Context(), w, cutPart{bytes.NewReader(make([]byte, left)), size})
		entries, listErr := home.List(t.Context())
		require.NoError(t, listErr)
		if int64(left) == size {
			require.NoError(t, err)
			require.Len(t, entries, 1)
			continue
		}
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Empty(t, entries)

		own, err := home.Create(t.Context(), storage.ID{Version: 2}, part)
		require.NoError(t, err)
		moved := &writer{
			creator: &creator{home: home, troubles: &troubles{log: slog.New(slog.DiscardHandler), nodes: &nodes{}}},
			ctx:     t.Context(), id: id, part: part, own: cutOwn{own},
		}
		_, err = moved.Write([]byte("the rest"))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.NoError(t, moved.Abort())
	}
}
