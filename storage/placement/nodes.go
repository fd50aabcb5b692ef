package placement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/domain"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// nodeReport is what each rank says of its node.
type nodeReport struct {
	Machine string          // the running system, however its containers are called
	Dir     osstring.String // root, as this node spells it
	File    string          // device and inode of the root: containers of one machine may have roots of one name
	Host    string
	Rack    string
	// Earlier are the places on the node that hold versions of the same home when it had
	// another identity, if it has a new one.
	Earlier []osstring.String
	Home    osstring.String // directory of the checkpoint, of rank 0
	Err     string
	Locked  bool // Err is that another job uses the node's place
}

// node is what shares one directory.
type node struct {
	Host  string
	Dir   string
	Rack  string
	Ranks []comm.Rank // ascending; the first one leads
}

func (n node) leader() comm.Rank { return n.Ranks[0] }

// isThat reports whether a node of this job is one that a manifest names.
func (n node) isThat(was manifest.Node) bool { return n.Host == was.Host && n.Dir == was.Root() }

// nodes are those of the job, by number: in the order of their leaders.
type nodes struct {
	me   comm.Rank
	list []node
	of   []int // by rank
}

// at is the place of a rank's node in the catalog, here that of this rank's.
func (n *nodes) at(r comm.Rank) catalog.Place { return catalog.Place(n.of[r]) }
func (n *nodes) here() catalog.Place          { return n.at(n.me) }

func (n *nodes) ranks() int { return len(n.of) }

// root reports that this rank speaks for all.
func (n *nodes) root() bool { return n.me == 0 }

// leads reports whether this rank is the first one of its node.
func (n *nodes) leads() bool { return n.list[n.here()].leader() == n.me }

// ownPart is the part that this rank writes.
func (n *nodes) ownPart() storage.Part { return storage.Part{Rank: int(n.me), Size: n.ranks()} }

// hostOf is the rank that has a part on its node, which is at some places, or that is to
// get it there.
func (n *nodes) hostOf(part storage.Part, at []catalog.Place) comm.Rank {
	own := comm.Rank(part.Rank % n.ranks())
	if len(at) == 0 || slices.Contains(at, n.at(own)) {
		return own
	}
	return n.list[at[0]].leader()
}

// noted are the nodes as a manifest names them.
func (n *nodes) noted() (out []manifest.Node) {
	for _, n := range n.list {
		noted := manifest.Node{Host: n.Host, Dir: osstring.String(n.Dir), Rack: n.Rack}
		for _, r := range n.Ranks {
			noted.Ranks = append(noted.Ranks, int(r))
		}
		out = append(out, noted)
	}
	return out
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
func describeNode(c *Config) nodeReport {
	self := c.Self
	if self == nil {
		me := nodelocal.ThisIdentity()
		self = &me
	}
	r := nodeReport{Machine: self.Boot, Host: self.Host, Rack: c.Rack}
	if r.Machine == "" {
		r.Machine = self.Machine + "/" + self.Host
	}
	dir, _ := filepath.Abs(c.Root)
	r.Dir = osstring.String(dir)
	if info, err := c.FS.Stat(dir); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			r.File = fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
		}
	}
	if c.Comm.Rank() == 0 {
		r.Home = osstring.String(c.Dir)
	}
	return r
}

// gatherNodes tells everybody who is where; problem is this rank's, and all
// return one if there is any.
func gatherNodes(ctx context.Context, c comm.Comm, own nodeReport, problem error) ([]nodeReport, error) {
	if problem != nil {
		own.Err, own.Locked = problem.Error(), errors.Is(problem, storage.ErrLocked)
	}
	data, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	all, err := comm.AllgatherBytes(ctx, c, data)
	if err != nil {
		return nil, err
	}
	reports := make([]nodeReport, len(all))
	for r, data := range all {
		if err := json.Unmarshal(data, &reports[r]); err != nil {
			return nil, fmt.Errorf("what rank %d says of its node: %w", r, err)
		}
	}
	if problem != nil {
		return nil, problem
	}
	for r, report := range reports {
		if report.Err != "" {
			e := &RankError{Rank: comm.Rank(r), Text: report.Err}
			if report.Locked {
				e.Err = storage.ErrLocked
			}
			return nil, e
		}
	}
	return reports, nil
}

func numberNodes(me comm.Rank, reports []nodeReport) (*nodes, error) {
	type key struct{ machine, dir, file string }
	numbers := make(map[key]int)
	n := &nodes{me: me}
	for r, report := range reports {
		k := key{report.Machine, string(report.Dir), report.File}
		if k.file != "" {
			k.dir = "" // a link is another name of one directory
		}
		number, ok := numbers[k]
		if !ok {
			number = len(n.list)
			numbers[k] = number
			n.list = append(n.list, node{Host: report.Host, Dir: string(report.Dir), Rack: report.Rack})
		}
		member := &n.list[number]
		if member.Rack != report.Rack {
			return n, fmt.Errorf("%w: host %s is in rack %q for rank %d and in rack %q for rank %d (CRAFT_RACKS)",
				ErrConfig, report.Host, report.Rack, r, member.Rack, member.leader())
		}
		member.Ranks = append(member.Ranks, comm.Rank(r))
		n.of = append(n.of, number)
	}
	return n, nil
}
