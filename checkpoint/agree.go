package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// verdict says how a step went on one rank, or on the worst of all.
type verdict int64

const (
	fine    verdict = iota
	damaged         // the version has wrong bytes: another one may do
	failed          // the step cannot be done now
)

func judge(err error) verdict {
	switch {
	case err == nil:
		return fine
	case storage.Passing(err):
		return failed
	}
	return damaged
}

// agree makes the outcome of a step the same on all ranks: each gives its own
// error, and all get the worst verdict. The rank that had it returns its own
// error, the others a *RankError with its text. An error of the communicator
// itself comes back as such, with the verdict failed.
func (c *core) agree(ctx context.Context, mine error) (verdict, error) {
	size := int64(c.comm.Size())
	if size == 1 {
		return judge(mine), mine
	}
	if commFailed(mine) { // the other ranks may still be in the call that failed
		return failed, mine
	}
	// The worst verdict wins, among equals the lowest rank.
	score := int64(judge(mine))*size + size - 1 - int64(c.comm.Rank())
	worst, err := comm.AllreduceOne(ctx, c.comm, score, comm.Max[int64])
	if err != nil {
		return failed, err
	}
	v := verdict(worst / size)
	if v == fine {
		return fine, nil
	}
	reporter := comm.Rank(size - 1 - worst%size)
	report, err := fromOne(ctx, c, reporter, reportOf(mine))
	switch {
	case err != nil:
		return failed, err
	case reporter == c.comm.Rank():
		return v, mine
	}
	return v, report.by(reporter)
}

// commFailed reports that an error is one of the communicator itself: processes
// have failed, or it was revoked. Then no collective call can help.
func commFailed(err error) bool {
	var remote *RankError
	return !errors.As(err, &remote) && (errors.Is(err, comm.ErrProcFailed) || errors.Is(err, comm.ErrRevoked))
}

// bit is a condition in a reduction: its maximum shows whether it holds on any rank.
func bit(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// compare finds out, in one reduction, which of same are not equal on all ranks, and the
// maxima of most. It is collective.
func (c *core) compare(ctx context.Context, same []int64, most ...int64) (differ []bool, maxima []int64, err error) {
	var own []int64
	for _, x := range same {
		own = append(own, x, ^x) // the maxima of both show whether all x are equal
	}
	own = append(own, most...)
	all := make([]int64, len(own))
	if err := comm.Allreduce(ctx, c.comm, own, all, comm.Max[int64]); err != nil {
		return nil, nil, err
	}
	for range same {
		differ = append(differ, all[0] != ^all[1])
		all = all[2:]
	}
	return differ, all, nil
}

// report is an error on its way to other ranks.
type report struct {
	Message string
	Is      []int // indices of sentinels
	// Guard is the refusal, if it is one, and Said its Err.
	Guard *GuardError `json:",omitempty"`
	Said  string      `json:",omitempty"`
}

func reportOf(err error) (r report) {
	if err == nil {
		return r
	}
	r.Message = err.Error()
	if errors.As(err, &r.Guard) && r.Guard.Err != nil {
		r.Said = r.Guard.Err.Error()
	}
	for i, s := range sentinels {
		if errors.Is(err, s) {
			r.Is = append(r.Is, i)
		}
	}
	return r
}

// by is the error of the rank that reports it.
func (r report) by(rank comm.Rank) error {
	e := &RankError{Rank: rank, Message: r.Message}
	if r.Guard != nil {
		refusal := *r.Guard
		refusal.Err = errors.New(r.Said)
		e.refusal = &refusal
	}
	for _, i := range r.Is {
		if i >= 0 && i < len(sentinels) {
			e.is = append(e.is, sentinels[i])
		}
	}
	return e
}

// fromRoot gives all ranks what rank 0 found, or its error.
func fromRoot[T any](ctx context.Context, c *core, value T, mine error) (T, error) {
	if _, err := c.agree(ctx, mine); err != nil {
		return value, err
	}
	if c.comm.Size() == 1 {
		return value, nil
	}
	return fromOne(ctx, c, 0, value)
}

func fromOne[T any](ctx context.Context, c *core, rank comm.Rank, value T) (T, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return value, err
	}
	if data, err = comm.BcastBytes(ctx, c.comm, rank, data); err == nil && c.comm.Rank() != rank {
		err = json.Unmarshal(data, &value)
	}
	return value, err
}

func fromAll[T any](ctx context.Context, c *core, mine T) ([]T, error) {
	data, err := json.Marshal(mine)
	if err != nil {
		return nil, err
	}
	all, err := comm.AllgatherBytes(ctx, c.comm, data)
	if err != nil {
		return nil, err
	}
	values := make([]T, len(all))
	for rank, data := range all {
		if err := json.Unmarshal(data, &values[rank]); err != nil {
			return nil, fmt.Errorf("what rank %d has sent: %w", rank, err)
		}
	}
	return values, nil
}
