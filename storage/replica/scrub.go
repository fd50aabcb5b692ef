package replica

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"golang.org/x/time/rate"
)

// Scrub checks each copy that this rank has of the present version against its checksum, at most so
// many bytes in a second (0: as fast as it can), and returns how many were damaged. It is local, and
// may run beside all other operations. What it has found does not count as a copy any more; the next
// Load or Repair makes it anew from another one.
func (s *Store) Scrub(ctx context.Context, bytesPerSecond int) (damaged int, err error) {
	v, err := s.read()
	if err != nil {
		return 0, err
	}
	pace := rate.NewLimiter(rate.Inf, 0)
	if bytesPerSecond > 0 {
		pace = rate.NewLimiter(rate.Limit(bytesPerSecond), bytesPerSecond)
	}
	for _, q := range v.rangesHere() {
		length, good := v.check(q)
		if !good && v.spoil(q) {
			damaged++
			s.note(1, 0)
		}
		for length > 0 && bytesPerSecond > 0 {
			n := min(length, bytesPerSecond)
			if err := pace.WaitN(ctx, n); err != nil {
				return damaged, cmp.Or(context.Cause(ctx), err) // it also does not wait for what its deadline forbids
			}
			length -= n
		}
		if ctx.Err() != nil {
			return damaged, context.Cause(ctx)
		}
	}
	return damaged, nil
}

// rangesHere are those of which this rank has a copy.
func (v *version) rangesHere() []int64 {
	v.use.RLock()
	defer v.use.RUnlock()
	return slices.Sorted(maps.Keys(v.copies))
}

// check checks a copy that is not awaited nor known to be damaged, and returns its length. Of a version that
// was given up nothing is left to check.
func (v *version) check(q int64) (length int, good bool) {
	v.use.RLock()
	defer v.use.RUnlock()
	h := v.copies[q]
	if h == nil || h.state.Load() != intact || h.data == nil {
		return 0, true
	}
	return len(h.data), checksum(h.data) == h.sum
}
