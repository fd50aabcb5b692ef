package checkpoint

import (
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
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
	stage catalog.Stage
	// present is what versions of this chain promise, earlier what those of the chains
	// before do.
	present, earlier storage.Promises
}

// nextDelta says, for the version that is about to be captured, what it may refer to.
func (wr *writing) nextDelta(h *container.Header) {
	if !wr.opt.Delta {
		return
	}
	d := &wr.deltas
	if stage := catalog.StageOf(h.Ancestors); d.stage != stage {
		*d = deltas{stage: stage}
	}
	planned := storage.Planned(*h)
	if planned.MemoryAlone() {
		return // no file refers to it
	}
	if wholeMilestone(wr) || planned.On(storage.TierMemory) != 0 || planned.BelowHome() != 0 && planned.AtHome() || d.isDue(wr.possible(*h), wr.opt.DeltaFull, wr.opt.Keep) {
		wr.store.Full()
		d.begin(h.Version)
		return
	}
	d.since++
	h.Oldest = d.full
}

// begin makes a version the first of a chain.
func (d *deltas) begin(version uint64) {
	d.earlier |= d.present
	d.full, d.since, d.present = version, 0, 0
}

// isDue reports whether the next version, of some levels, has to be full: because it is
// the first or the every-th, or because, if it referred to its chain, one damaged byte
// could take all versions of a level: there is one in that chain, and none before,
// which retention would keep. So the first two versions of each level are full.
func (d *deltas) isDue(levels storage.Levels, every, keep int) bool {
	if d.full == 0 || d.since+1 >= every {
		return true
	}
	return keep > 1 && levels.Promises()&d.present&^d.earlier != 0
}

// possible are the levels that a version can reach below the parallel file system.
func (c *core) possible(h container.Header) storage.Levels {
	return c.placement.Possible(storage.Planned(h).BelowHome())
}

// memoryAlone reports whether a version is to be in no file.
func memoryAlone(c *core, h container.Header) bool {
	return c.placement.OnNodes() && c.placement.Possible(storage.Planned(h)).MemoryAlone()
}

// stored notes the levels that the last version has reached.
func (d *deltas) stored(levels storage.Levels) { d.present |= levels.Promises() }
