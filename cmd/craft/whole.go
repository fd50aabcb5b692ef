package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/offline"
)

// wholeOnNode looks on the nodes for the bytes of a part that was found to be bad, because
// a restart goes on to the next place that has them. It says where they are, whole with all
// that they refer to; "" if no node that can be read from here has them as such.
func wholeOnNode(ctx context.Context, c *offline.Checkpoint, id storage.ID, bad checkedPart) string {
	for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy} {
		key := storage.ObjectKey{ID: id, Kind: kind, Part: bad.part}
		for _, d := range c.Store.Nodes {
			path := filepath.Join(string(d.Dir), key.Name())
			if _, there := d.Sizes[key]; !there || path == bad.path {
				continue
			}
			store, err := storage.NewStore(d.Store.Of(kind), container.Options{})
			if err == nil {
				_, err = store.Verify(ctx, c.Name, id, bad.part)
			}
			if err == nil {
				return fmt.Sprintf("the %v on host %s (%s)", kind, d.Host, path)
			}
		}
	}
	return ""
}
