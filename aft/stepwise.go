package aft

import (
	"context"
	"os"
)

// stepwiseVariable has zones recover by the calls of ULFM one after the other, as programs do that use it
// directly (Reinit++, section 4: revoke, shrink, agree, spawn and merge, reorder): for the comparison in
// internal/bench/approaches. The zone's own recovery has them in one.
const stepwiseVariable = "CRAFT_TEST_STEPWISE"

func stepwise() bool { return os.Getenv(stepwiseVariable) == "1" }

// shrinkFirst makes a communicator of the survivors. Its outcome does not matter: others may fail.
func (s *epochScope) shrinkFirst(ctx context.Context) {
	if fewer, err := s.place.Comm.Shrink(ctx); err == nil {
		_, _ = fewer.Agree(ctx, 1)
		fewer.Free()
	}
}

// reorder splits the communicator with the replacements by ranks, on survivors and replacements.
func (s *epochScope) reorder() {
	c := s.place.Comm
	if ordered, err := c.Split(s.ctx, 0, int(c.Rank())); err == nil {
		ordered.Free()
	}
}
