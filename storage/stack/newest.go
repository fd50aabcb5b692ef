package stack

import (
	"context"
	"fmt"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
)

// Noted is what the note at home says of the nodes.
type Noted struct {
	Newest *Newest // nil: they have had nothing
	// Reserved is the highest number that a version may have, and the attempt that may
	// have used it.
	Reserved storage.ID
	// ReservedFrom is the first number that only that attempt may have used.
	ReservedFrom uint64
	// Where says for people which nodes they are, Policy how the levels were set.
	Where, Policy string
}

// Newest is the newest version that nodes had when the note was written.
type Newest struct {
	ID      storage.ID
	Lineage container.LineageID
	Levels  storage.Levels
	// Ancestors are those of a nested checkpoint.
	Ancestors []storage.NotedAncestor
}

// ReadNoted reads the note of a home whose levels are not in use.
func ReadNoted(ctx context.Context, home storage.Noter) (Noted, error) {
	data, err := home.Note(ctx, filestore.NodesName)
	if err != nil || data == nil {
		return Noted{}, err
	}
	var n note
	if err := n.parse(data); err != nil {
		return Noted{}, err
	}
	return n.noted(), nil
}

// Noted is what the note says that this stack has found, or has written since.
func (s *Stack) Noted() Noted {
	n := s.lastNote()
	return n.noted()
}

func (n *note) noted() Noted {
	var where []string
	for _, node := range n.Nodes {
		where = append(where, fmt.Sprintf("%s (%s)", node.Host, node.Dir))
	}
	reserved, _ := n.reserved()
	from := n.ReservedFrom
	if from == 0 {
		from = reserved.Version + 1
	}
	return Noted{Newest: n.newest(), Reserved: reserved, ReservedFrom: from, Where: strings.Join(where, ", "), Policy: n.Policy}
}

// Announced reports whether a version may be one of those that the note knows of: each
// attempt notes the numbers that it is going to use before it stores anything.
func (n Noted) Announced(id storage.ID) bool {
	return id.Attempt == n.Reserved.Attempt || id.Version < n.ReservedFrom
}

// Newest is that of the note.
func (s *Stack) Newest() *Newest {
	n := s.lastNote()
	return n.newest()
}

func (n *note) newest() *Newest {
	if n.Newest == nil {
		return nil
	}
	id, ok := storage.ParseID(n.Newest.Directory)
	lineage, known := storage.ParseLineage(n.Newest.Lineage)
	if !ok || !known {
		return nil
	}
	return &Newest{ID: id, Lineage: lineage, Levels: n.Newest.Levels, Ancestors: n.Newest.Ancestors}
}
