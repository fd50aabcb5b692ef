package comm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/testseed"
)

var errLost = errors.New("connection lost")

// losing is a rank that can send no more than some messages. Its engine notices.
type losing struct {
	driver.Comm
	left   int
	notice context.CancelCauseFunc
}

func (l *losing) Isend(dst, tag int, data []byte) driver.Request {
	if l.left--; l.left < 0 {
		l.notice(errLost)
		return driver.FailedRequest(errLost)
	}
	return l.Comm.Isend(dst, tag, data)
}

// TestUnfinished: a rank loses its connections somewhere in the middle, and the
// others give up. Then no buffer of the collective is in use any more.
func TestUnfinished(t *testing.T) {
	calls := []struct {
		name string
		call collective
		m    []int
	}{
		{"Allreduce", allreduceOf(comm.RankOrder), []int{1, 1 << 14}},
		{"Allreduce, AnyOrder", allreduceOf(comm.AnyOrder), []int{1, 1 << 14}},
		{"Reduce", reduceOf, []int{1, 70_001}},
		{"Bcast", bcastOf, []int{1, 70_001, 200_000}},
		{"Gather", gatherOf, []int{1, 1 << 14}},
		{"Scatter", scatterOf, []int{1, 1 << 14}},
		{"Allgather", allgatherOf, []int{1, 1 << 14}},
	}
	first, step := 0, 1
	if testing.Short() {
		first, step = testseed.Rand(t).IntN(4), 4
	}
	for _, tc := range calls {
		for _, n := range []int{4, 16, 17} {
			for _, m := range tc.m {
				t.Run(fmt.Sprintf("%s/ranks=%d/float64=%d", tc.name, n, m), func(t *testing.T) {
					for _, loser := range []int{0, n / 2, n - 1} {
						lost := true
						for left := first; lost && left < 40; left += step {
							lost = loses(t, n, m, loser, left, tc.call)
						}
					}
				})
			}
		}
	}
}

// loses reports whether the collective needed more messages than the loser had.
func loses(t *testing.T, n, m int, loser, left int, call collective) bool {
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &postroom{eager: -1, bend: func(d desk) driver.Comm {
		if d.rank == loser {
			return &losing{d, left, cancel}
		}
		return d
	}}
	err := p.run(ctx, n, func(ctx context.Context, c *comm.Comm) error { return call(ctx, c, m) })
	require.Empty(t, p.recvs)
	require.Empty(t, p.sends)
	if err != nil {
		require.ErrorIs(t, err, errLost)
		require.NotErrorIs(t, err, comm.ErrTruncated)
	}
	return err != nil
}
