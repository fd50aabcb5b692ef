package manifest

import (
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// State is what a manifest says of the versions on the nodes.
type State struct {
	Newest *Newest // nil: they have had nothing
	// Reserved is the highest number that a version may have, and the attempt that may
	// have used it.
	Reserved storage.ID
	// ReservedFrom is the first number that only that attempt may have used.
	ReservedFrom uint64
	// Where says for people which nodes they are, Policy how the levels were set.
	Where, Policy string
}

// Newest is the newest version that nodes had when a manifest was written.
type Newest struct {
	ID      storage.ID
	Lineage container.LineageID
	Levels  storage.Levels
	// Ancestors are those of a nested checkpoint.
	Ancestors []storage.NotedAncestor
}

// State is what the manifest says.
func (m Manifest) State() State {
	var where []string
	for _, n := range m.Nodes {
		where = append(where, n.String())
	}
	reserved, _ := m.reserved()
	from := m.ReservedFrom
	if from == 0 {
		from = reserved.Version + 1
	}
	return State{Newest: m.newest(), Reserved: reserved, ReservedFrom: from, Where: strings.Join(where, ", "), Policy: m.Policy}
}

// Announced reports whether a version may be one of those that the manifest knows of: each
// attempt notes the numbers that it is going to use before it stores anything.
func (s State) Announced(id storage.ID) bool {
	return id.Attempt == s.Reserved.Attempt || id.Version < s.ReservedFrom
}

func (m Manifest) newest() *Newest {
	if m.Newest == nil {
		return nil
	}
	id, ok := storage.ParseID(m.Newest.Directory)
	lineage, known := storage.ParseLineage(m.Newest.Lineage)
	if !ok || !known {
		return nil
	}
	return &Newest{ID: id, Lineage: lineage, Levels: m.Newest.Levels, Ancestors: m.Newest.Ancestors}
}
