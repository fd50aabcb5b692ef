package checkpoint

import (
	"context"
	"fmt"
)

type setting struct{ Variable, Value string }

// settingsOf are those that must be the same on all ranks: with others they would be
// in different collective calls and wait for each other for ever.
func settingsOf(c *core) []setting {
	o := c.opt
	out := []setting{
		{"CRAFT_READ_CP_ON_RESTART", fmt.Sprint(o.ReadOnRestart)},
		{"CRAFT_WRITE_ASYNC or CRAFT_WRITE_ASYNC_ZERO_COPY", string(o.mode())},
		{"CRAFT_STRICT", string(o.Strict)},
		{"CRAFT_USE_SCR", fmt.Sprint(o.UseSCR)},
	}
	levels, sets, delta := "", "", ""
	if c.leveled() {
		policy, _ := o.policy() // validated
		levels, sets = policy.String(), fmt.Sprintf("%d, %d", o.SetSize, o.RSParity)
	}
	if o.Delta {
		delta = fmt.Sprintf("1, %d, %d", o.DeltaFull, min(o.Keep, 2)) // what is kept decides what is full
	}
	return append(out, setting{"CRAFT_LEVELS", levels}, setting{"CRAFT_SET_SIZE, CRAFT_RS_PARITY", sets}, setting{"CRAFT_DELTA, CRAFT_DELTA_FULL, CRAFT_KEEP", delta})
}

// sameSettings compares them on all ranks. It is collective, and the error is the
// same everywhere.
func (st *starting) sameSettings(ctx context.Context) error {
	if st.comm.Size() == 1 {
		return nil
	}
	mine := settingsOf(st.core)
	if differ, _, err := st.compare(ctx, []int64{condensed(fmt.Append(nil, mine))}); err != nil || !differ[0] {
		return err
	}
	all, err := fromAll(ctx, st.core, mine)
	if err != nil {
		return err
	}
	for rank, theirs := range all {
		for i, s := range theirs[:min(len(theirs), len(all[0]))] {
			if first := all[0][i]; first != s {
				return fmt.Errorf("%w: %s (from the environment, or the option in its place) is %q on rank 0 and %q on rank %d: give all ranks the same",
					ErrDisagree, s.Variable, first.Value, s.Value, rank)
			}
		}
	}
	return fmt.Errorf("%w about their settings: the ranks run different builds of the program", ErrDisagree)
}
