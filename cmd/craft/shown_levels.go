package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/offline"
)

// shownLocation has something of a version.
type shownLocation struct {
	Kind   string          `json:"place"`            // "pfs" or "node"
	Host   string          `json:"host,omitempty"`   // of a node
	Path   osstring.String `json:"path"`             // of the version there
	Parts  []int           `json:"parts"`            // of which ranks
	Copies []int           `json:"copies,omitempty"` // of other nodes' parts
	Parity []int           `json:"parity,omitempty"` // kept by which ranks
}

// shownBase is a version that has chunks of the one that is shown.
type shownBase struct {
	Version  uint64          `json:"version"`
	Path     osstring.String `json:"path"`
	Complete bool            `json:"complete"` // its files are all there
}

// describeLevels says how and where the version is kept.
func (d *shownVersion) describeLevels(ctx context.Context, c *offline.Checkpoint, v *offline.Version, parts []readPart) error {
	d.Level, d.Reached = v.Planned(), v.Reached
	d.Flush, d.Elsewhere, d.onDisk = parts[0].reader.Header().Flush, v.Elsewhere, c.Manifest == nil
	d.describeLocations(c, v)
	all := make(map[uint64]bool)
	for _, p := range parts {
		d.Referred += addReferences(all, p.reader)
	}
	bases := slices.Sorted(maps.Keys(all))
	var list []offline.Version
	if len(bases) > 0 {
		var err error
		if list, err = c.Versions(ctx); err != nil {
			return err
		}
	}
	d.Durability = v.Durability(list, bases)
	for _, number := range bases {
		id := storage.ID{Version: number, Attempt: v.ID.Attempt}
		complete := slices.ContainsFunc(list, func(o offline.Version) bool { return o.ID == id && o.Complete() })
		d.Bases = append(d.Bases, shownBase{number, osstring.String(c.Files.Path(id)), complete})
	}
	return nil
}

func (d *shownVersion) describeLocations(c *offline.Checkpoint, v *offline.Version) {
	for _, h := range c.Files.At.Holdings(v.Entry) {
		kind := "node"
		if h.Dir == c.Files.At.Store.Path(v.ID) {
			kind = "pfs"
		}
		d.Locations = append(d.Locations, shownLocation{kind, h.Host, osstring.String(h.Dir), append([]int{}, h.Parts...), h.Copies, h.Parity})
	}
}

// printLevels prints what describeLevels found.
func (d *shownVersion) printLevels(s *screen, line func(name, value string)) {
	if d.Durability != nil {
		line("durability", d.Durability.String())
	}
	if !d.onDisk {
		if d.Level != nil {
			line("level", levelText(d.Level, d.Reached, d.Flush, ", to be copied to the parallel file system"))
		}
		for _, at := range d.Locations[:min(mostNodes, len(d.Locations))] {
			line("stored", at.String())
		}
		if more := len(d.Locations) - mostNodes; more > 0 {
			line("stored", fmt.Sprintf("on %d more nodes (--json shows all)", more))
		}
	}
	if d.Elsewhere {
		line("stored", "perhaps on nodes that cannot be read from here (craft ls names them)")
	}
	if len(d.Bases) == 0 {
		return
	}
	var bases []string
	for _, b := range d.Bases {
		text := fmt.Sprint(b.Version)
		if !b.Complete {
			text += " (not all there)"
		}
		bases = append(bases, text)
	}
	line("refers to", fmt.Sprintf("%s in versions %s", s.size(d.Referred), strings.Join(bases, ", ")))
}

// String is such as "host n1: parts 0-1; copies 2-3 (/dev/shm/...)".
func (s shownLocation) String() string {
	var has []string
	add := func(what string, ranks []int) {
		if len(ranks) > 0 {
			has = append(has, what+" "+ranges(ranks))
		}
	}
	add("parts", s.Parts)
	add("copies", s.Copies)
	add("parity", s.Parity)
	where := "parallel file system"
	if s.Kind == "node" {
		where = "host " + s.Host
	}
	return fmt.Sprintf("%s: %s (%s)", where, strings.Join(has, "; "), s.Path)
}
