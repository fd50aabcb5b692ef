package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/offline"
)

// references lists the versions that hold chunks of this one, and how many bytes
// they have of it. What cannot be read does not count: craft verify tells.
func references(ctx context.Context, c *offline.Checkpoint, v offline.Version) (bases []uint64, bytes int64) {
	var mu sync.Mutex
	all := make(map[uint64]bool)
	_ = severalAtOnce(ctx, len(v.Parts), func(i int) {
		f, err := c.Files.Open(ctx, c.Name, v.ID, v.Parts[i])
		if err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		bytes += addReferences(all, f.Reader)
		_ = f.Close() // nothing was written
	})
	return slices.Sorted(maps.Keys(all)), bytes
}

// missingBases are those of a version's bases that are not all there, nor may be
// on nodes elsewhere.
func missingBases(list []offline.Version, id storage.ID, bases []uint64) (missing []uint64) {
	for _, number := range bases {
		base := storage.ID{Version: number, Attempt: id.Attempt}
		if !slices.ContainsFunc(list, func(v offline.Version) bool { return v.ID == base && (v.Complete() || v.Elsewhere) }) {
			missing = append(missing, number)
		}
	}
	return missing
}

// addReferences enters the versions that a file refers to and returns the bytes
// that it does not have itself.
func addReferences(all map[uint64]bool, r *container.Reader) (bytes int64) {
	for _, base := range r.Refs() {
		all[base] = true
	}
	for _, info := range r.Sections() {
		bytes += info.Refers
	}
	return bytes
}

// otherNodes says where a version is that cannot be read from here.
func otherNodes(c *offline.Checkpoint, v *offline.Version) error {
	var at []string
	for _, d := range c.Store.Nodes {
		if d.State == offline.NodeElsewhere {
			at = append(at, fmt.Sprintf("%s (%s)", d.Host, d.Dir))
		}
	}
	if more := len(at) - 8; more > 0 {
		at = append(at[:8], fmt.Sprintf("%d more", more))
	}
	level := ""
	if l := v.Planned(); l != nil {
		level = fmt.Sprintf(" at level %v", *l)
	}
	return fmt.Errorf("version %d is kept%s on other nodes: %s; run craft node ls and craft node verify there", v.ID.Version, level, strings.Join(at, ", "))
}
