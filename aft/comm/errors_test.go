package comm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
)

func TestFailedError(t *testing.T) {
	err := fmt.Errorf("halo exchange: %w", &comm.FailedError{Ranks: []comm.Rank{2, 5}})
	require.ErrorIs(t, err, comm.ErrProcFailed)
	require.NotErrorIs(t, err, comm.ErrRevoked)
	require.EqualError(t, err, "halo exchange: process failed: rank 2, 5")
	var failed *comm.FailedError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, []comm.Rank{2, 5}, failed.Ranks)
}

// request is one whose Wait is observed.
type request struct {
	err       error
	withdrawn bool
	waited    bool
}

func (r *request) Wait(ctx context.Context) (driver.Status, error) {
	r.waited, r.withdrawn = true, ctx.Err() != nil
	return driver.Status{}, r.err
}

func TestWaitAll(t *testing.T) {
	hard := errors.New("broken")
	cases := []struct {
		name      string
		errs      [3]error
		want      error
		withdrawn [3]bool
	}{
		{name: "all complete"},
		{name: "hard error withdraws the rest", errs: [3]error{1: hard}, want: hard, withdrawn: [3]bool{2: true}},
		{name: "length error waits for the rest", errs: [3]error{0: comm.ErrTruncated}, want: comm.ErrTruncated},
		{
			name: "first error counts", errs: [3]error{0: comm.ErrTruncated, 1: hard},
			want: comm.ErrTruncated, withdrawn: [3]bool{2: true},
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			var observed [3]*request
			requests := []comm.Request{{}}
			for i, err := range tc.errs {
				observed[i] = &request{err: err}
				requests = append(requests, comm.RequestOf(observed[i]))
			}
			require.ErrorIs(t, comm.WaitAll(t.Context(), requests...), tc.want)
			for i, r := range observed {
				require.True(t, r.waited, "request %d", i)
				require.Equal(t, tc.withdrawn[i], r.withdrawn, "request %d", i)
			}
		})
	}
}
