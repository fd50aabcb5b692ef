package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Crash returns a new Mem as a loss of power at this moment would leave the disk; all of it is
// durable. The Mem itself goes on: what is still open is open there. keep is the share of the
// unsynced that survives, drawn from rng: with 0 nothing does, with 1 (or more) everything, and
// rng may be nil; in between, equal operations and an equal rng give an equal result.
//
// What survives, after POSIX and not after what a good file system would do:
//
//   - File.Sync makes the bytes of a file durable and not its name, FS.SyncDir
//     makes the names in a directory durable and not the bytes of its files, nor
//     the directory's own name in its parent.
//   - Bytes after the last Sync: all of them, or the file is cut at any byte,
//     and within that length pages of 4 KiB may be missing and read as zeros.
//     So a renamed file that was not synced may be there empty, torn or full of
//     zeros. Durable bytes are never harmed, unless they are written over:
//     then each page is the old one or the new one, and so is the length.
//   - Names after the last SyncDir: each create, mkdir, rename and remove
//     survives or not, in any combination that keeps these promises: one name
//     goes through its states in order; a rename happens as a whole, so that a
//     file which had a durable name has exactly one of its names since, and a
//     rename that replaces a file leaves one or the other; nothing is lost
//     because a directory was not there yet or not any more. A rename between
//     directories is durable with the SyncDir of either.
//   - Permissions and modification times survive.
//
// OnOp is not inherited, the capacity is.
func (m *Mem) Crash(keep float64, rng *rand.Rand) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := crash{keep: keep, rng: rng, renamed: map[*node]map[string]*node{}}
	survives := m.pending.chosen(func(*change) bool { return c.survives() })
	for _, change := range m.pending.changes {
		if survives[change] {
			c.apply(change)
		}
	}
	disk := NewMem()
	disk.capacity = m.capacity
	disk.root = c.cloneDir(m.root)
	disk.used = c.bytes
	return disk
}

// crash clones a tree while it decides what survives.
type crash struct {
	keep float64
	rng  *rand.Rand
	// renamed holds, by directory, what survives on top of the saved entries
	// (nil: no such name).
	renamed map[*node]map[string]*node
	bytes   int64
}

func (c *crash) survives() bool {
	return c.keep >= 1 || c.keep > 0 && c.rng.Float64() < c.keep
}

func (c *crash) apply(change *change) {
	for _, set := range change.sets {
		if c.renamed[set.dir] == nil {
			c.renamed[set.dir] = map[string]*node{}
		}
		c.renamed[set.dir][set.name] = set.node
	}
}

func (c *crash) cloneDir(dir *node) *node {
	names := maps.Clone(dir.saved)
	maps.Copy(names, c.renamed[dir])
	clone := newDir(dir.perm)
	clone.modTime = dir.modTime
	for _, name := range slices.Sorted(maps.Keys(names)) {
		child := names[name]
		switch {
		case child == nil:
			continue
		case child.isDir():
			child = c.cloneDir(child)
		default:
			child = c.cloneFile(child)
		}
		entry{clone, name}.put(child)
		clone.saved[name] = child
	}
	return clone
}

func (c *crash) cloneFile(file *node) *node {
	data := c.contents(file)
	c.bytes += int64(len(data))
	return &node{perm: file.perm, modTime: file.modTime, data: data, durable: len(data)}
}

const pageSize = 4096

// contents decides how much of a file is left. Both sides share what is intact:
// the original only grows behind it, nobody has the clone open for writing, and
// who writes over a file makes a copy first.
func (c *crash) contents(file *node) []byte {
	if file.old != nil {
		return c.mixture(file)
	}
	size, durable := len(file.data), file.durable
	if size > durable && !c.survives() {
		size = c.cut(durable, size)
	}
	if size == durable || c.survives() {
		return file.data[:size:size]
	}
	data := slices.Clone(file.data[:size])
	// A length without any data is the classic one; many pages would never all
	// be lost by chance.
	none := c.rng.IntN(2) == 0
	for start, end := durable, 0; start < size; start = end {
		end = min(start-start%pageSize+pageSize, size)
		if none || !c.survives() {
			clear(data[start:end])
		}
	}
	return data
}

// cut draws a length from durable up to size, which it does not reach. Half of
// them are durable itself: nothing of the new bytes is left.
func (c *crash) cut(durable, size int) int {
	if c.keep <= 0 || c.rng.IntN(2) == 0 {
		return durable
	}
	return durable + c.rng.IntN(size-durable)
}
