package storage

import (
	"encoding/hex"
	"time"

	"github.com/craft-go/craft/storage/container"
)

// ManifestName is the file that says which nodes hold versions (package manifest).
const ManifestName = "NODES.json"

// Latest is the content of LATEST.json: for people and tools. No restart takes a
// version because of it, but one that it tells of and that is gone is missed.
type Latest struct {
	Checkpoint string    `json:"checkpoint"`
	Version    uint64    `json:"version"`
	Attempt    string    `json:"attempt"`
	Lineage    string    `json:"lineage"`
	Directory  string    `json:"directory"`
	Iteration  *int64    `json:"iteration"`
	Ranks      int       `json:"ranks"`
	Created    time.Time `json:"created"`
	// Ancestors are those of a nested checkpoint, innermost first.
	Ancestors []NotedAncestor `json:"ancestors,omitempty"`
}

// NotedAncestor is a container.Ancestor for people and tools.
type NotedAncestor struct {
	Name    string `json:"name"`
	Attempt string `json:"attempt"`
	Version uint64 `json:"version"`
	Calls   uint64 `json:"calls"`
}

// NoteAncestors converts those of a header.
func NoteAncestors(ancestors []container.Ancestor) []NotedAncestor {
	out := []NotedAncestor{}
	for _, a := range ancestors {
		out = append(out, NotedAncestor{a.Name, hex.EncodeToString(a.Attempt[:]), a.Version, a.Calls})
	}
	return out
}

// ParseLineage reads a lineage as notes and records have it.
func ParseLineage(text string) (id container.LineageID, ok bool) {
	b, err := hex.DecodeString(text)
	ok = err == nil && len(b) == len(id) && copy(id[:], b) == len(id)
	return id, ok
}

// ParseAttempt reads an attempt as notes and records have it.
func ParseAttempt(text string) (id container.AttemptID, ok bool) {
	b, err := hex.DecodeString(text)
	ok = err == nil && len(b) == len(id) && copy(id[:], b) == len(id)
	return id, ok
}
