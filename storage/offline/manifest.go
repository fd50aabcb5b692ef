package offline

import (
	"fmt"
	"path/filepath"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
)

// Manifest is what NODES.json in a checkpoint's directory says of the nodes that hold
// versions of it.
type Manifest struct {
	manifest.Manifest

	newest storage.ID // that Newest names
	home   string     // the directory that it is in
}

// ReadManifest returns nil if there is none: no version was on nodes.
func ReadManifest(fsys vfs.Reader, dir string) (*Manifest, error) {
	data, err := filestore.ReadMetadata(fsys, dir, manifest.Name)
	if data == nil || err != nil {
		return nil, err
	}
	m := Manifest{home: dir}
	m.Manifest, err = manifest.Parse(data)
	if err == nil && m.Newest != nil {
		var ok bool
		if m.newest, ok = storage.ParseID(m.Newest.Directory); !ok {
			err = fmt.Errorf("%q is no name of a version", m.Newest.Directory)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be understood, so what nodes hold is not known: %w", filepath.Join(dir, manifest.Name), err)
	}
	return &m, nil
}
