package placement

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/internal/domain"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// nodeReport is what each rank says of its node.
type nodeReport struct {
	Machine string          // the running system, however its containers are called
	Dir     osstring.String // root, as this node spells it
	File    vfs.FileID      // of the root: containers of one machine may have roots of one name
	Host    string
	Rack    string
	// Earlier are the places on the node that hold versions of the same home when it had
	// another identity, if it has a new one.
	Earlier []osstring.String
	Home    osstring.String // directory of the checkpoint, of rank 0
}

// nodes are those of the job, by number: in the order of their leaders. A node is what shares
// one directory.
type nodes struct {
	me   comm.Rank
	list []manifest.Node // Ranks are ascending; the first one leads
	of   []int           // by rank
}

// at is the place of a rank's node in the catalog, here that of this rank's.
func (n *nodes) at(r comm.Rank) catalog.Place { return catalog.Place(n.of[r]) }
func (n *nodes) here() catalog.Place          { return n.at(n.me) }

func (n *nodes) ranks() int { return len(n.of) }

// root reports that this rank speaks for all.
func (n *nodes) root() bool { return n.me == 0 }

// leader is the first rank of a node.
func (n *nodes) leader(of catalog.Place) comm.Rank { return comm.Rank(n.list[of].Ranks[0]) }

// leads reports whether this rank is the first one of its node.
func (n *nodes) leads() bool { return n.leader(n.here()) == n.me }

// ownPart is the part that this rank writes.
func (n *nodes) ownPart() storage.Part { return storage.Part{Rank: int(n.me), Size: n.ranks()} }

// hostOf is the rank that has a part on its node, which is at some places, or that is to
// get it there.
func (n *nodes) hostOf(part storage.Part, at []catalog.Place) comm.Rank {
	own := comm.Rank(part.Rank % n.ranks())
	if len(at) == 0 || slices.Contains(at, n.at(own)) {
		return own
	}
	return n.leader(at[0])
}

// racks is how many there are; nodes without a label count as one.
func (n *nodes) racks() int {
	of := make(map[string]bool)
	for _, node := range n.list {
		of[node.Rack] = true
	}
	return len(of)
}

// places are for package domain.
func (n *nodes) places() []domain.Place {
	out := make([]domain.Place, len(n.of))
	for r, number := range n.of {
		out[r] = domain.Place{Node: number, Rack: n.list[number].Rack}
	}
	return out
}

// describeNode says of this rank's node what tells it from others.
func describeNode(c *Config, local *nodelocal.Store) nodeReport {
	self, root := local.Self, local.Root
	r := nodeReport{Machine: cmp.Or(self.Boot, self.Machine+"/"+self.Host), Dir: osstring.String(root), Host: self.Host, Rack: c.Rack}
	if info, err := c.FS.Stat(root); err == nil {
		r.File = vfs.IDOf(info)
	}
	if c.Comm.Rank() == 0 {
		r.Home = osstring.String(c.Dir)
	}
	return r
}

// numberNodes finds out who shares a node; place is what the checkpoint's directory is called
// on each.
func numberNodes(me comm.Rank, place string, reports []nodeReport) (*nodes, error) {
	type key struct {
		machine, dir string
		file         vfs.FileID
	}
	numbers := make(map[key]int)
	n := &nodes{me: me}
	for r, report := range reports {
		k := key{report.Machine, string(report.Dir), report.File}
		if k.file != (vfs.FileID{}) {
			k.dir = "" // a link is another name of one directory
		}
		number, ok := numbers[k]
		if !ok {
			number = len(n.list)
			numbers[k] = number
			dir := filepath.Join(string(report.Dir), place)
			n.list = append(n.list, manifest.Node{Host: report.Host, Dir: osstring.String(dir), Rack: report.Rack})
		}
		member := &n.list[number]
		if member.Rack != report.Rack {
			return n, fmt.Errorf("%w: host %s is in rack %q for rank %d and in rack %q for rank %d (CRAFT_RACKS)",
				ErrConfig, report.Host, report.Rack, r, member.Rack, member.Ranks[0])
		}
		member.Ranks = append(member.Ranks, r)
		n.of = append(n.of, number)
	}
	return n, nil
}
