package aft_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// waitForReturned is a body with a mistake: the last rank waits for ranks whose bodies
// have returned. What they have sent before can be received all the same.
// Kinds: "rank" and "any" wait for messages, "send" waits for a receive.
func waitForReturned(ctx context.Context, z *aft.Zone, kind string) error {
	c := z.Comm()
	last := comm.Rank(c.Size() - 1)
	if c.Rank() != last {
		return comm.Send(ctx, c, last, 1, []int{int(c.Rank())})
	}
	source := comm.Rank(0)
	if kind == "any" {
		source = comm.AnySource
	}
	var got [1]int
	wait := func() error {
		if kind == "send" {
			return comm.Send(ctx, c, 0, 2, make([]int, 1<<20))
		}
		_, _, err := comm.Recv(ctx, c, source, 2, got[:])
		return err
	}
	err := wait()
	if !errors.Is(err, comm.ErrClosed) {
		return fmt.Errorf("%s: %w", kind, err)
	}
	if again := wait(); fmt.Sprint(again) != err.Error() {
		return fmt.Errorf("once more: %w", again)
	}
	for r := range last {
		if _, _, err := comm.Recv(ctx, c, r, 1, got[:]); err != nil || got[0] != int(r) {
			return fmt.Errorf("%d of rank %d, which it had sent before: %w", got[0], r, err)
		}
	}
	return err
}

func TestWaitForAReturnedBody(t *testing.T) {
	for kind, says := range map[string]string{
		"rank": "rank 3: communicator closed: the body of rank 0 has returned",
		"send": "rank 3: communicator closed: the body of rank 0 has returned",
		"any":  "rank 3: communicator closed: the bodies of all other ranks have returned",
	} {
		t.Run(kind, func(t *testing.T) {
			err := aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
				return waitForReturned(ctx, z, kind)
			}, aft.WithRanks(4), quiet)
			require.EqualError(t, err, says)
			var b *aft.BodyError
			require.ErrorAs(t, err, &b)
			require.EqualValues(t, 3, b.Rank)
			_, stderr, code := launched(t, comm.Policy{}, t.TempDir(), "off", "returned "+kind)
			require.Equal(t, 1, code)
			require.Equal(t, 4, strings.Count(stderr, says), stderr)
		})
	}
}
