package main

import (
	"fmt"
	"path/filepath"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// nodesNote is what NODES.json in a checkpoint's directory says of the nodes
// that hold versions of it.
type nodesNote struct {
	storage.NodesNote

	newest storage.ID // that Newest names
	home   string     // the directory that the note is in
}

// readNodesNote returns nil if there is no note: no version was on nodes.
func readNodesNote(fsys vfs.Reader, dir string) (*nodesNote, error) {
	name := filepath.Join(dir, filestore.NodesName)
	data, err := filestore.ReadNote(fsys, dir, filestore.NodesName)
	if data == nil || err != nil {
		return nil, err
	}
	var n nodesNote
	n.home = dir
	n.NodesNote, err = storage.ParseNodesNote(data)
	if err == nil && n.Newest != nil {
		var ok bool
		if n.newest, ok = storage.ParseID(n.Newest.Directory); !ok {
			err = fmt.Errorf("%q is no name of a version", n.Newest.Directory)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be understood, so what nodes hold is not known: %w", name, err)
	}
	return &n, nil
}
