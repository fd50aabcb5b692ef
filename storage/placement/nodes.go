package placement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
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
	list []node
	of   []int // by rank
}

func (n *nodes) mine(me comm.Rank) int { return n.of[me] }

// at is the place of a rank's node in the catalog.
func (n *nodes) at(r comm.Rank) catalog.Place { return catalog.Place(n.of[r]) }

// leads reports whether a rank is the first one of its node.
func (n *nodes) leads(r comm.Rank) bool { return n.list[n.of[r]].leader() == r }

// Nodes are those of the job, with their directories (CRAFT_NODE_PATH).
func (s *Placement) Nodes() (out []manifest.Node) {
	for _, n := range s.nodes.list {
		noted := manifest.Node{Host: n.Host, Dir: n.Dir, Rack: n.Rack}
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

func (s *Placement) describeNode() nodeReport {
	self := s.Self
	if self == nil {
		me := nodelocal.ThisIdentity()
		self = &me
	}
	r := nodeReport{Machine: self.Boot, Host: self.Host, Rack: s.Rack}
	if r.Machine == "" {
		r.Machine = self.Machine + "/" + self.Host
	}
	dir, _ := filepath.Abs(s.Root)
	r.Dir = osstring.String(dir)
	if info, err := s.FS.Stat(dir); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			r.File = fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
		}
	}
	if s.root() {
		r.Home = osstring.String(s.Dir)
	}
	return r
}

// gatherNodes tells everybody who is where; problem is this rank's, and all
// return one if there is any.
func (s *Placement) gatherNodes(ctx context.Context, own nodeReport, problem error) error {
	if problem != nil {
		own.Err, own.Locked = problem.Error(), errors.Is(problem, storage.ErrLocked)
	}
	data, err := json.Marshal(own)
	if err != nil {
		return err
	}
	all, err := comm.AllgatherBytes(ctx, s.Comm, data)
	if err != nil {
		return err
	}
	reports := make([]nodeReport, len(all))
	for r, data := range all {
		if err := json.Unmarshal(data, &reports[r]); err != nil {
			return fmt.Errorf("what rank %d says of its node: %w", r, err)
		}
	}
	if problem != nil {
		return problem
	}
	for r, report := range reports {
		if report.Err != "" {
			e := &RankError{Rank: comm.Rank(r), Text: report.Err}
			if report.Locked {
				e.Err = storage.ErrLocked
			}
			return e
		}
	}
	s.rootDir = string(reports[0].Home)
	if s.nodes, err = numberNodes(reports); err != nil {
		return err
	}
	if s.root() {
		s.noteUnused(reports)
	}
	return nil
}

// noteUnused says that nodes have something of the same checkpoint which nobody looks at.
func (s *Placement) noteUnused(reports []nodeReport) {
	var where []string
	for _, n := range s.nodes.list {
		for _, dir := range reports[n.leader()].Earlier {
			where = append(where, fmt.Sprintf("%s (%s)", n.Host, dir))
		}
	}
	if len(where) == 0 {
		return
	}
	nodes := strings.Join(where, ", ")
	s.log.Warn("what nodes have of this checkpoint is not used: "+unusedWhy, "path", s.Dir, "nodes", nodes)
	s.unused = fmt.Sprintf("what nodes have of the checkpoint in %s is not used (%s): %s", s.Dir, nodes, unusedWhy)
}

const unusedWhy = "there is no " + manifest.Name + " in its directory, which says that it belongs to it; " +
	"end the program and mount the file system, or put the file back, before a version is written, with which a new one is made; " +
	"if the directory was deleted on purpose, delete these places on the nodes (craft node clean --unseen does, with all others of which it is not seen what became of their checkpoints)"

// Unused describes, on rank 0, what nodes have of this checkpoint although the home has
// no note of them; "" if there is nothing.
func (s *Placement) Unused() string { return s.unused }

func numberNodes(reports []nodeReport) (nodes, error) {
	type key struct{ machine, dir, file string }
	numbers := make(map[key]int)
	var n nodes
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
