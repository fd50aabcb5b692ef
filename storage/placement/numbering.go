package placement

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// nodeReport is what each rank says of its node.
type nodeReport struct {
	Self nodelocal.Identity
	Dir  osstring.String // root, as this node spells it
	File vfs.FileID      // of the root: containers of one machine may have roots of one name
	// Unseen: this attempt touches no file, so it is as it was in the one before.
	Unseen bool
	// Signer is who has signed the place in it, read when all ranks had made theirs.
	Signer nodelocal.Identity
	// Copied is why the place is not used: it was made on another machine.
	Copied string
	Rack   string
	// Earlier are the places on the node that hold versions of the same home when it had
	// another identity, if it has a new one.
	Earlier []osstring.String
	Home    osstring.String // directory of the checkpoint, of rank 0
}

// machine is the running system, however its containers are called.
func (r *nodeReport) machine() string {
	return cmp.Or(r.Self.Boot, r.Self.Machine+"/"+r.Self.Host)
}

// sameDir reports whether two ranks store in one directory, which links may give several names.
func (r *nodeReport) sameDir(other *nodeReport) bool {
	none := vfs.FileID{}
	switch {
	case r.machine() != other.machine():
		return false
	case r.File != none && other.File != none:
		return r.File == other.File
	}
	return r.Dir == other.Dir
}

// sharers is how many ranks run on the machine of one, itself included.
func sharers(reports []nodeReport, me comm.Rank) (n int) {
	for r := range reports {
		if reports[r].machine() == reports[me].machine() {
			n++
		}
	}
	return n
}

// numbering is how nodes are numbered: by what the engine says and the ranks report.
type numbering struct {
	of      []int // by rank, as the communicator says; nil: it does not
	reports []nodeReport
	dirs    []int // by rank: the first one that stores in the same directory
}

// numberNodes finds out who shares a node: that is what the communicator says, and the
// directories, which only say where the data of a node is, have to agree. Where it does not say
// anything who shares a directory shares a node. place is what the checkpoint's directory is
// called on each.
func numberNodes(me comm.Rank, place string, of []int, reports []nodeReport) (*nodes, error) {
	b := numbering{of: of, reports: reports, dirs: make([]int, len(reports))}
	var first []int // rank of each directory
	for r := range reports {
		b.dirs[r] = r
		for _, other := range first {
			if b.sameDir(r, other) {
				b.dirs[r] = other
			}
		}
		if b.dirs[r] == r {
			first = append(first, r)
		}
	}
	if b.of == nil {
		b.of = b.dirs
	}
	if err := b.checkSignatures(); err != nil {
		return nil, err
	}
	n, numbers := &nodes{me: me}, make(map[int]int)
	for r, report := range reports {
		number, ok := numbers[b.of[r]]
		if !ok {
			number = len(n.list)
			numbers[b.of[r]] = number
			dir := filepath.Join(string(report.Dir), place)
			n.list = append(n.list, manifest.Node{Host: report.Self.Host, Dir: osstring.String(dir), Rack: report.Rack})
		}
		member := &n.list[number]
		member.Ranks = append(member.Ranks, r)
		n.of = append(n.of, number)
		if err := b.check(member.Ranks[0], r); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// sameDir reports whether two ranks store in one directory. Of directories that nobody has looked at that is what the
// communicator says, if it does: their names do not tell containers of one machine apart, nor links.
func (b *numbering) sameDir(r, other int) bool {
	if b.of != nil && b.reports[r].Unseen {
		return b.of[r] == b.of[other]
	}
	return b.reports[r].sameDir(&b.reports[other])
}

// check returns an error if a rank and the first one of its node disagree, or if it stores where
// another node does.
func (b *numbering) check(leader, r int) error {
	one, report := b.reports[leader], b.reports[r]
	switch {
	case b.of[b.dirs[r]] != b.of[r]:
		return b.shared(b.dirs[r], r)
	case b.dirs[leader] != b.dirs[r]:
		return fmt.Errorf("%w: rank %d and rank %d are on one node (%s) and store in two directories, %s and %s: the loss of that node takes both; let CRAFT_NODE_PATH (or WithNodePath) name one directory for all ranks of a node, or make a node of each with craft run --nodes",
			ErrConfig, leader, r, b.node(r), one.Dir, report.Dir)
	case one.Rack != report.Rack:
		return fmt.Errorf("%w: host %s is in rack %q for rank %d and in rack %q for rank %d (CRAFT_RACKS)",
			ErrConfig, report.Self.Host, report.Rack, r, one.Rack, leader)
	}
	return nil
}

// checkSignatures returns an error if a node finds in its own directory what another one has
// signed there: they see one file system.
func (b *numbering) checkSignatures() error {
	for r, report := range b.reports {
		if report.Signer == (nodelocal.Identity{}) || report.Signer.SameNode(report.Self) {
			continue
		}
		for other, there := range b.reports {
			if report.Signer.SameNode(there.Self) && report.Dir == there.Dir {
				return b.shared(other, r)
			}
		}
	}
	return nil
}

// shared is the error of two nodes that store in one directory.
func (b *numbering) shared(one, other int) error {
	return fmt.Errorf("%w: rank %d (%s) and rank %d (%s) are on two nodes and store in one directory, %s: what is to survive the loss of a node would be lost with it; let CRAFT_NODE_PATH (or WithNodePath) name storage that each node has for itself, such as /dev/shm or a disk, not a network file system; with craft run --nodes give --node-path, below which each node has a directory",
		ErrConfig, one, b.node(one), other, b.node(other), b.reports[other].Dir)
}

// node is that of a rank, for people.
func (b *numbering) node(r int) string {
	return fmt.Sprintf("node %d of the job, host %s", b.of[r], b.reports[r].Self.Host)
}
