package placement

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// opened is a driver of one part.
type opened struct {
	storage.Driver

	part storage.PartReader
}

func (o opened) Open(context.Context, storage.ID, storage.Part) (storage.PartReader, error) {
	return o.part, nil
}

// errAway stands for the text of a version that is away.
var errAway = errors.New("away")

// A part that is damaged here and cannot be read elsewhere now is not damaged: it
// may be good there. Places that turn out not to have it change nothing.
func TestPassingFaultIsNoDamage(t *testing.T) {
	key := storage.ObjectKey{ID: storage.ID{Version: 1}, Kind: storage.KindPart, Part: storage.Part{Rank: 0, Size: 1}}
	here := catalog.Source{Key: key} // it is damaged there, too
	missing := catalog.Source{Key: storage.ObjectKey{ID: key.ID, Kind: storage.KindCopy, Part: key.Part}}
	home := catalog.Source{Key: key, At: catalog.Home}
	for name, c := range map[string]struct {
		rest []catalog.Source
		home error // of opening the part there
		want error
		// before are asked before the one that is damaged; away is where nothing can be listed.
		before []catalog.Source
		away   []storage.Entry
	}{
		"none":                       {nil, nil, storage.ErrDamaged, nil, nil},
		"missing":                    {[]catalog.Source{missing}, nil, storage.ErrDamaged, nil, nil},
		"all missing":                {[]catalog.Source{missing, home}, fs.ErrNotExist, storage.ErrDamaged, nil, nil},
		"not now":                    {[]catalog.Source{home}, syscall.ETIMEDOUT, syscall.ETIMEDOUT, nil, nil},
		"missing, not now":           {[]catalog.Source{missing, home}, syscall.ETIMEDOUT, syscall.ETIMEDOUT, nil, nil},
		"not now, missing":           {[]catalog.Source{home, missing}, syscall.ETIMEDOUT, syscall.ETIMEDOUT, nil, nil},
		"not now, bad":               {[]catalog.Source{home, here}, syscall.ETIMEDOUT, syscall.ETIMEDOUT, nil, nil},
		"bad, not now, missing":      {[]catalog.Source{here, home, missing}, syscall.EMFILE, syscall.EMFILE, nil, nil},
		"missing, good":              {[]catalog.Source{missing, home}, nil, nil, nil, nil},
		"not now before":             {nil, syscall.EIO, syscall.EIO, []catalog.Source{home}, nil},
		"not now before, bad":        {[]catalog.Source{here}, syscall.EIO, syscall.EIO, []catalog.Source{home}, nil},
		"missing before, bad":        {[]catalog.Source{here}, nil, storage.ErrDamaged, []catalog.Source{missing}, nil},
		"away":                       {[]catalog.Source{here, missing}, nil, errAway, nil, []storage.Entry{{ID: key.ID, Away: []string{"not mounted"}}}},
		"another one away":           {[]catalog.Source{here, missing}, nil, storage.ErrDamaged, nil, []storage.Entry{{ID: storage.ID{Version: 2}, Away: []string{"not mounted"}}}},
		"missing, not now, missing":  {[]catalog.Source{missing, home, missing}, syscall.EIO, syscall.EIO, nil, nil},
		"missing, missing, then bad": {[]catalog.Source{missing, missing}, nil, storage.ErrDamaged, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			local, err := nodelocal.New(nodelocal.Config{Root: "/node", Name: "cp", Home: "/pfs/cp", FS: mem})
			require.NoError(t, err)
			pfs := vfs.WithErrors(vfs.NewMem(), func(op vfs.Op) error {
				if op.Kind == vfs.OpOpen {
					return c.home
				}
				return nil
			})
			files, err := filestore.New(filestore.Config{Path: "/pfs", Name: "cp", FS: pfs})
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
			path := filepath.Join(local.Path(key.ID), key.Part.String())
			data, err := vfs.ReadFile(mem, path, 1<<20)
			require.NoError(t, err)
			n := &nodes{list: []manifest.Node{{}}, of: []int{0}}
			s := &finder{
				home: files, log: slog.New(slog.DiscardHandler), nodes: n, local: local, register: newRegister(n, 0),
			}
			s.register.cat.Merge(catalog.Findings{Away: c.away}, 0)
			for _, at := range []int{9, len(data) / 2} { // in the header, and in the value
				flipped := slices.Clone(data)
				flipped[at] ^= 1
				require.NoError(t, vfs.WriteFile(mem, path, flipped, 0o600, false))
				f, err := s.openFirst(t.Context(), key, slices.Concat(c.before, []catalog.Source{here}, c.rest))
				require.NoError(t, err)
				store, err := storage.NewStore(opened{local, f}, container.Options{})
				require.NoError(t, err)
				if at == 9 {
					_, err = store.Header(t.Context(), "cp", key.ID, key.Part)
				} else {
					_, err = store.Verify(t.Context(), "cp", key.ID, key.Part)
				}
				switch c.want {
				case nil:
					require.NoError(t, err)
				case errAway:
					require.ErrorContains(t, err, "not mounted")
				default:
					require.ErrorIs(t, err, c.want)
				}
				require.Equal(t, c.want == storage.ErrDamaged, errors.Is(err, storage.ErrDamaged), "%v", err)
				require.True(t, s.register.notes[key.ID].torn, "the file here is to be repaired")
			}
		})
	}
}
