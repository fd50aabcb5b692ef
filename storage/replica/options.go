package replica

import (
	"fmt"
	"log/slog"
)

// Options are what a store is like, the same on all ranks but for Limit, NoDirect and Log. The zero
// Options are good ones for input data of which parts are loaded after a failure.
type Options struct {
	// Copies of each block, each on another rank and node; 0: 2. With 4, about 1.7 % of 2^25 ranks fail
	// before anything is lost (see Loss).
	Copies int
	// RangeBytes is about how many bytes stay together (the paper's permutation range); 0: 256 KiB.
	RangeBytes int
	// Consecutive: no permutation of the ranges. The first copy stays with its submitter, which is
	// faster to submit and to load all of it; what one rank loses comes from few others.
	Consecutive bool
	// Probe is how places for copies that must move are drawn.
	Probe Probe
	// Seed of the permutation and of Probe.
	Seed uint64
	// SharedNodes allows more copies than nodes. Some are lost together with a node then.
	SharedNodes bool
	// Limit is how many bytes of memory the store may take on this rank; 0: what this rank's share of
	// the memory is that the system says is available.
	Limit int64
	// NoDirect: copies for ranks of the same host travel as messages, too. Else a rank that submits writes
	// them into the memory of these, where the system lets processes do so.
	NoDirect bool
	// Log gets what the program need not know; nil: slog's default logger.
	Log *slog.Logger
}

// The defaults of Options.
const (
	DefaultCopies     = 2
	DefaultRangeBytes = 256 << 10
)

func (o Options) withDefaults() Options {
	if o.Copies == 0 {
		o.Copies = DefaultCopies
	}
	if o.RangeBytes == 0 {
		o.RangeBytes = DefaultRangeBytes
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

func (o Options) check() error {
	switch {
	case o.Copies < 0:
		return fmt.Errorf("%w: Copies is %d: allowed are 1 or more, and 0 for %d", ErrOptions, o.Copies, DefaultCopies)
	case o.RangeBytes < 0 || o.RangeBytes > 1<<30:
		return fmt.Errorf("%w: RangeBytes is %d: allowed are 1 to 1 GiB, and 0 for 256 KiB", ErrOptions, o.RangeBytes)
	case o.Probe != ProbeA && o.Probe != ProbeB:
		return fmt.Errorf("%w: Probe is %v: allowed are A and B", ErrOptions, o.Probe)
	case o.Limit < 0:
		return fmt.Errorf("%w: Limit is %d: allowed are 1 or more bytes, and 0 for what is available", ErrOptions, o.Limit)
	}
	return nil
}
