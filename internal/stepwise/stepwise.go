// Package stepwise has zones recover by the calls of ULFM one after the other, as programs do that use it directly
// (Reinit++, section 4: revoke, shrink, agree, spawn and merge, reorder). The recovery of a zone has them in one: it is for
// comparisons of the two.
package stepwise

import (
	"context"
	"os"

	"github.com/craft-go/craft/aft"
)

// Variable is set to 1 where it is asked for.
const Variable = "CRAFT_TEST_STEPWISE"

// Begin is called where a body begins. If it is asked for, ranks are put in order there after a repair, with those that are
// new, and when the attempt ends by a failure there is a communicator of the survivors before the zone repairs
// its own (of which the job's log says that it is not needed).
func Begin(z *aft.Zone) {
	if os.Getenv(Variable) != "1" {
		return
	}
	if _, repaired := z.Change(); repaired {
		reorder(z)
	}
	z.Cleanup(func() {
		if z.FaultDetected() {
			shrink(z)
		}
	})
}

// shrink makes a communicator of the survivors. Its outcome does not matter: others may fail.
func shrink(z *aft.Zone) {
	ctx := context.Background() // that of the attempt has ended
	if fewer, err := z.Comm().Shrink(ctx); err == nil {
		_, _ = fewer.Agree(ctx, 1)
		fewer.Free()
	}
}

// reorder splits the communicator by ranks. If that fails the body will see why.
func reorder(z *aft.Zone) {
	c := z.Comm()
	if ordered, err := c.Split(z.Context(), 0, int(c.Rank())); err == nil {
		ordered.Free()
	}
}
