package checkpoint

import "github.com/craft-go/craft/storage/container"

// deltaChunk is the chunk size in bytes with CRAFT_DELTA=1: small, so that a
// change costs little.
const deltaChunk = 256 << 10

// deltas counts the versions since the last full one. It is the same on all
// ranks.
type deltas struct {
	full  uint64 // number of the last full version
	since int    // versions that may refer to it
	// stage is that of a nested checkpoint which all of them belong to: retention
	// keeps or deletes the versions of a stage together.
	stage chain
}

// nextDelta says, for the version that is about to be captured, what it may refer to.
func (cp *Checkpoint) nextDelta(h *container.Header) {
	if !cp.opt.Delta {
		return
	}
	d, stage := &cp.deltas, chainOf(h.Ancestors)
	if d.full == 0 || d.stage != stage || d.since+1 >= cp.opt.DeltaFull || h.Level != 0 && h.Flush {
		cp.store.Full()
		*d = deltas{full: h.Version, stage: stage}
		return
	}
	d.since++
	h.Oldest = d.full
}
