package storage

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/craft-go/craft/internal/osstring"
)

// nodesFormat is that of a NodesNote.
const nodesFormat = 1

// NodesNote is the content of NODES.json beside the versions on the parallel file
// system: the nodes that hold others. What is on the nodes belongs to its ID; the
// rest is for people and tools, and for telling what has been lost.
type NodesNote struct {
	Format     int           `json:"format"`
	ID         string        `json:"id"`
	Checkpoint string        `json:"checkpoint"`
	Policy     string        `json:"levels"`
	Nodes      []NotedNode   `json:"nodes"`
	Newest     *NotedVersion `json:"newest,omitempty"` // nil: the nodes had none
	// Reserved is an ID: numbers of versions up to it may have been used, the last ones
	// by its attempt. Empty: none have.
	Reserved string `json:"reserved,omitempty"`
	// ReservedFrom is the first number that is that attempt's: no other one that the home
	// knows of has written a version from there on. 0: not known.
	ReservedFrom uint64    `json:"reserved_from,omitempty"`
	Updated      time.Time `json:"updated"`
}

// NotedNode is a node of the job that wrote a NodesNote.
type NotedNode struct {
	Host  string `json:"host"`
	Dir   string `json:"directory"` // the checkpoint's on the node
	Rack  string `json:"rack,omitempty"`
	Ranks []int  `json:"ranks"`
	// Healed: what it has of the attempt that reserved was brought there later, which
	// does not tell how far that attempt came.
	Healed bool `json:"healed,omitempty"`
}

type plainNode NotedNode

// encodedNode keeps every byte of the path.
type encodedNode struct {
	plainNode

	Dir osstring.String `json:"directory"`
}

// MarshalJSON keeps every byte of the path.
func (n NotedNode) MarshalJSON() ([]byte, error) {
	return json.Marshal(encodedNode{plainNode(n), osstring.String(n.Dir)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *NotedNode) UnmarshalJSON(data []byte) error {
	var e encodedNode
	err := json.Unmarshal(data, &e)
	*n = NotedNode(e.plainNode)
	n.Dir = string(e.Dir)
	return err
}

// NotedVersion is the newest version that the nodes had when a NodesNote was
// written.
type NotedVersion struct {
	Directory string `json:"directory"` // ID.String
	Lineage   string `json:"lineage"`
	Iteration *int64 `json:"iteration,omitempty"`
	Levels    Levels `json:"level"`
	Ranks     int    `json:"ranks"`
	// Ancestors are those of a nested checkpoint, innermost first.
	Ancestors []NotedAncestor `json:"ancestors,omitempty"`
}

// NewNodesNote begins the note of a store with a new identity.
func NewNodesNote(id string) NodesNote { return NodesNote{Format: nodesFormat, ID: id} }

// ParseNodesNote reads a NodesNote.
func ParseNodesNote(data []byte) (NodesNote, error) {
	var n NodesNote
	err := json.Unmarshal(data, &n)
	if err == nil && (n.Format != nodesFormat || n.ID == "") {
		err = fmt.Errorf("format %d, this program knows %d", n.Format, nodesFormat)
	}
	if err != nil {
		return NodesNote{}, err
	}
	return n, nil
}
