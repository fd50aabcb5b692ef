package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

const Name = storage.ManifestName

const format = 1

// ErrInvalid is matched by errors about a manifest that cannot be understood.
var ErrInvalid = errors.New("the manifest of the nodes is not valid")

// Manifest is the content of NODES.json. What is on the nodes belongs to its ID; the rest
// is for people and tools, and for telling what has been lost.
type Manifest struct {
	Format     int      `json:"format"`
	ID         string   `json:"id"`
	Checkpoint string   `json:"checkpoint"`
	Policy     string   `json:"levels"`
	Nodes      []Node   `json:"nodes"`
	Newest     *Version `json:"newest,omitempty"` // nil: the nodes had none
	// Reserved is an ID: numbers of versions up to it may have been used, the last ones
	// by its attempt. Empty: none have.
	Reserved string `json:"reserved,omitempty"`
	// ReservedFrom is the first number that is that attempt's: no other one that the home
	// knows of has written a version from there on. 0: not known.
	ReservedFrom uint64    `json:"reserved_from,omitempty"`
	Updated      time.Time `json:"updated"`
}

// Node is a node of the job that wrote a Manifest.
type Node struct {
	Host  string `json:"host"`
	Rack  string `json:"rack,omitempty"`
	Ranks []int  `json:"ranks"`
	// Healed: what it has of the attempt that reserved was brought there later, which
	// does not tell how far that attempt came.
	Healed bool            `json:"healed,omitempty"`
	Dir    osstring.String `json:"directory"` // the checkpoint's on the node
}

// Root is the directory of the node that Dir is in (CRAFT_NODE_PATH).
func (n Node) Root() string { return filepath.Dir(string(n.Dir)) }

// Place is what the checkpoint's directory on the node is called.
func (n Node) Place() string { return filepath.Base(string(n.Dir)) }

func (n Node) String() string { return fmt.Sprintf("%s (%s)", n.Host, n.Dir) }

// Same reports whether two entries are of one node.
func (n Node) Same(other Node) bool { return n.Host == other.Host && n.Root() == other.Root() }

// Version is the newest version that the nodes had when a Manifest was written.
type Version struct {
	Directory string         `json:"directory"` // storage.ID.String
	Lineage   string         `json:"lineage"`
	Iteration *int64         `json:"iteration,omitempty"`
	Levels    storage.Levels `json:"level"`
	Ranks     int            `json:"ranks"`
	// Ancestors are those of a nested checkpoint, innermost first.
	Ancestors []storage.NotedAncestor `json:"ancestors,omitempty"`
}

// New begins the manifest of a store with a new identity.
func New(id string) Manifest { return Manifest{Format: format, ID: id} }

func Parse(data []byte) (m Manifest, err error) {
	err = json.Unmarshal(data, &m)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return Manifest{}, err
	}
	return m, nil
}

func (m Manifest) check() error {
	if m.Format != format {
		return fmt.Errorf("format %d, this program knows %d", m.Format, format)
	}
	if m.ID == "" {
		return errors.New("it has no id, which the OWNER.json of what the nodes have names as store")
	}
	if _, ok := m.reserved(); !ok {
		return fmt.Errorf("reserved %q is no name of a version", m.Reserved)
	}
	return nil
}

// Encode is what Parse reads, and people.
func (m Manifest) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(m, "", "  ")
	return append(data, '\n'), err
}

// Read reads the manifest of a checkpoint; ok is false if there is none.
func Read(ctx context.Context, home storage.MetadataStore) (m Manifest, ok bool, err error) {
	data, err := home.ReadMetadata(ctx, Name)
	if err != nil || data == nil {
		return m, false, err
	}
	if m, err = Parse(data); err != nil {
		err = fmt.Errorf("%w: %s in the checkpoint's directory cannot be understood (%w), and without it what the nodes hold cannot be found; if nothing on the nodes is needed, delete it", ErrInvalid, Name, err)
	}
	return m, err == nil, err
}

func (m Manifest) reserved() (id storage.ID, ok bool) {
	if m.Reserved == "" {
		return id, true
	}
	return storage.ParseID(m.Reserved)
}

// withNodes enters the nodes of a job. Those that are there already stay in front of them,
// with the ranks that they had, unless they are to be replaced: until the job has a version
// of its own the newest one is on them.
func (m Manifest) withNodes(nodes []Node, replace bool) Manifest {
	before := m.Nodes
	if replace {
		before = nil
	}
	m.Nodes = slices.Clone(before)
	for _, n := range nodes {
		at := slices.IndexFunc(before, func(o Node) bool { return o.Host == n.Host && o.Dir == n.Dir })
		if at < 0 {
			m.Nodes = append(m.Nodes, n)
			continue
		}
		ranks := slices.Concat(before[at].Ranks, n.Ranks)
		slices.Sort(ranks)
		m.Nodes[at].Ranks = slices.Compact(ranks)
	}
	return m
}

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
