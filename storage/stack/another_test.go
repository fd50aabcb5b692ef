package stack

import (
	"context"
	"errors"
	"log/slog"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/nodelocal"
	"github.com/craft-go/craft/storage/storagetest"
)

// opened is a driver of one part.
type opened struct {
	storage.Driver

	part storage.PartReader
}

func (o opened) Open(context.Context, storage.ID, storage.Part) (storage.PartReader, error) {
	return o.part, nil
}

// A part that is damaged here and cannot be read elsewhere now is not damaged: it
// may be good there. Places that turn out not to have it change nothing.
func TestPassingFaultIsNoDamage(t *testing.T) {
	key := nodelocal.Key{ID: storage.ID{Version: 1}, Kind: nodelocal.KindPart, Part: storage.Part{Rank: 0, Size: 1}}
	missing := source{onNode, nodelocal.Key{ID: key.ID, Kind: nodelocal.KindCopy, Part: key.Part}, 0}
	home := source{kind: atHome}
	for name, c := range map[string]struct {
		rest []source
		home error // of opening the part there
		want error
	}{
		"none":                       {nil, nil, storage.ErrDamaged},
		"missing":                    {[]source{missing}, nil, storage.ErrDamaged},
		"all missing":                {[]source{missing, home}, storage.ErrNotFound, storage.ErrDamaged},
		"not now":                    {[]source{home}, syscall.ETIMEDOUT, syscall.ETIMEDOUT},
		"missing, not now":           {[]source{missing, home}, syscall.ETIMEDOUT, syscall.ETIMEDOUT},
		"not now, missing":           {[]source{home, missing}, syscall.ETIMEDOUT, syscall.ETIMEDOUT},
		"missing, good":              {[]source{missing, home}, nil, nil},
		"missing, not now, missing":  {[]source{missing, home, missing}, syscall.EIO, syscall.EIO},
		"missing, missing, then bad": {[]source{missing, missing}, nil, storage.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			local, err := nodelocal.New(nodelocal.Config{Root: "/node", Name: "cp", Home: "/pfs/cp", FS: vfs.NewMem()})
			require.NoError(t, err)
			files, err := filestore.New(filestore.Config{Path: "/pfs", Name: "cp", FS: vfs.NewMem()})
			require.NoError(t, err)
			for _, d := range []storage.Driver{local, files} {
				require.NoError(t, d.(storage.Preparer).Prepare(t.Context(), nil))
				store, err := storage.NewStore(d, container.Options{})
				require.NoError(t, err)
				h := container.Header{Name: "cp", Version: 1, Size: 1}
				x := container.Section{Key: "x", Desc: container.Desc{Elem: container.Opaque}, Spans: [][]byte{make([]byte, 5000)}}
				_, err = store.Write(t.Context(), h, []container.Section{x}, nil)
				require.NoError(t, err)
			}
			s := &Stack{
				Config: Config{Home: storagetest.Failing(files, func(op storagetest.Op) error {
					if op.Kind == storagetest.OpOpen {
						return c.home
					}
					return nil
				})},
				log: slog.New(slog.DiscardHandler), nodes: nodes{list: []node{{}}, of: []int{0}}, local: local, torn: make(map[storage.ID]bool),
			}
			bad, err := storagetest.Flipping(local, func(_ storage.ID, _ storage.Part, size int64) []int64 { return []int64{size * 4} }).Open(t.Context(), key.ID, key.Part)
			require.NoError(t, err)
			f := &found{PartReader: bad, s: s, ctx: t.Context(), id: key.ID, part: key.Part, first: source{onNode, key, 0}, rest: c.rest}
			store, err := storage.NewStore(opened{local, f}, container.Options{})
			require.NoError(t, err)
			_, err = store.Verify(t.Context(), "cp", key.ID, key.Part)
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
				require.Equal(t, c.want == storage.ErrDamaged, errors.Is(err, storage.ErrDamaged), "%v", err)
			}
			require.True(t, s.torn[key.ID], "the file here is to be mended")
		})
	}
}
