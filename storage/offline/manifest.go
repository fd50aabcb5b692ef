package offline

import (
	"fmt"
	"path/filepath"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
)

// ReadManifest reads what NODES.json in a checkpoint's directory says of the nodes that hold
// versions of it; nil if there is none: no version was on nodes.
func ReadManifest(fsys vfs.Reader, dir string) (*manifest.Manifest, error) {
	data, err := filestore.ReadMetadata(fsys, dir, manifest.Name)
	if data == nil || err != nil {
		return nil, err
	}
	m, err := manifest.Parse(data)
	if err == nil && m.Newest != nil {
		if _, ok := storage.ParseID(m.Newest.Directory); !ok {
			err = fmt.Errorf("%q is no name of a version", m.Newest.Directory)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be understood, so what nodes hold is not known: %w", filepath.Join(dir, manifest.Name), err)
	}
	return &m, nil
}
