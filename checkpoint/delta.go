package checkpoint

import (
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// deltaChunk is the chunk size in bytes with CRAFT_DELTA=1: small, so that a
// change costs little.
const deltaChunk = 256 << 10

// deltas says what the next version may refer to: the last full one, and those since,
// which are its chain. It is the same on all ranks.
type deltas struct {
	full  uint64 // number of the last full version
	since int    // versions that may refer to it
	// stage is that of a nested checkpoint which all of them belong to: retention
	// keeps or deletes the versions of a stage together.
	stage chain
	// present and earlier are the levels that a version of this chain has reached, and
	// one of the chains before.
	present, earlier [storage.PFS + 1]bool
}

// nextDelta says, for the version that is about to be captured, what it may refer to.
func (cp *Checkpoint) nextDelta(h *container.Header) {
	if !cp.opt.Delta {
		return
	}
	d := &cp.deltas
	if stage := chainOf(h.Ancestors); d.stage != stage {
		*d = deltas{stage: stage}
	}
	if h.Level != 0 && h.Flush || d.isDue(cp.possible(*h), cp.opt.DeltaFull, cp.opt.Keep) {
		cp.store.Full()
		d.begin(h.Version)
		return
	}
	d.since++
	h.Oldest = d.full
}

// begin makes a version the first of a chain.
func (d *deltas) begin(version uint64) {
	for level := range d.present {
		d.earlier[level] = d.earlier[level] || d.present[level]
	}
	d.full, d.since, d.present = version, 0, [len(d.present)]bool{}
}

// isDue reports whether the next version, of a level, has to be full: because it is
// the first or the every-th, or because, if it referred to its chain, one damaged byte
// could take all versions of a level: there is one in that chain, and none before,
// which retention would keep. So the first two versions of each level are full.
func (d *deltas) isDue(level storage.Level, every, keep int) bool {
	if d.full == 0 || d.since+1 >= every {
		return true
	}
	for l := range level + 1 {
		if keep > 1 && d.present[l] && !d.earlier[l] {
			return true
		}
	}
	return false
}

// possible is the level that a version can reach on the nodes.
func (cp *Checkpoint) possible(h container.Header) storage.Level {
	if cp.stack == nil {
		return storage.Captured
	}
	return cp.stack.Possible(storage.Level(h.Level))
}

// stored notes the level that the last version has reached.
func (d *deltas) stored(level storage.Level) {
	for l := range level + 1 {
		d.present[l] = true
	}
}
