package embedded

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
)

// TestLastingCommunicator: it works while the job's own one is revoked, when that has been
// replaced, and when bodies have returned; what is made of it too.
func TestLastingCommunicator(t *testing.T) {
	require.NoError(t, RunInproc(t.Context(), InprocConfig{Ranks: 4}, func(ctx context.Context, r *InprocRank) error {
		s := r.session
		world := comm.New(s.Place().Comm)
		if r.Replacement() {
			if _, err := world.Agree(ctx, 1); err != nil { // on the repaired one
				return err
			}
			return nil
		}
		d, err := world.Dup(ctx, comm.Lasting())
		if err != nil {
			return err
		}
		plain, err := world.Dup(ctx)
		if err != nil {
			return err
		}
		if world.Rank() == 3 {
			r.Die()
		}
		<-d.FailureKnown()
		s.Revoke()
		if err := comm.Barrier(ctx, plain); !errors.Is(err, comm.ErrRevoked) && !errors.Is(err, comm.ErrProcFailed) {
			return fmt.Errorf("the other one goes on: %v", err)
		}
		if err := neighbours(ctx, d, 3); err != nil {
			return fmt.Errorf("while the job recovers: %w", err)
		}
		e, err := d.Shrink(ctx)
		if err != nil {
			return err
		}
		if _, err := s.Repair(ctx, driver.Policy{Recovery: driver.NonShrinking, Spawn: driver.Reuse}); err != nil {
			return err
		}
		if _, err := comm.New(s.Place().Comm).Agree(ctx, 1); err != nil {
			return err
		}
		if err := errors.Join(neighbours(ctx, d, 3), comm.Barrier(ctx, e)); err != nil {
			return fmt.Errorf("after the repair: %w", err)
		}
		if boxes := len(s.ep.boxes); boxes != 3 {
			return fmt.Errorf("%d communicators are kept", boxes)
		}
		d.Free()
		if err := comm.Barrier(ctx, e); err != nil { // nobody is needed any more by those that are slower
			return err
		}
		e.Free()
		if boxes := len(s.ep.boxes); boxes != 1 {
			return fmt.Errorf("%d communicators are kept in the end", boxes)
		}
		return nil
	}))
}

// neighbours exchanges messages in a ring of the first ranks.
func neighbours(ctx context.Context, c *comm.Comm, n comm.Rank) error {
	got := []int{-1}
	left := (c.Rank() + n - 1) % n
	_, _, err := comm.Sendrecv(ctx, c, (c.Rank()+1)%n, 1, []int{int(c.Rank())}, left, 1, got)
	if err == nil && got[0] != int(left) {
		err = fmt.Errorf("%d came from rank %d", got[0], left)
	}
	return err
}

// TestLastingWhenBodiesHaveReturned: a rank that has returned from its body may still answer.
func TestLastingWhenBodiesHaveReturned(t *testing.T) {
	require.NoError(t, RunInproc(t.Context(), InprocConfig{Ranks: 2}, func(ctx context.Context, r *InprocRank) error {
		s := r.Session()
		d, err := comm.New(s.Place().Comm).Dup(ctx, comm.Lasting())
		if err != nil {
			return err
		}
		answered := make(chan error, 1)
		if d.Rank() == 1 {
			go func() { answered <- serve(ctx, d) }()
		} else {
			answered <- nil
			if _, _, err := comm.Recv(ctx, comm.New(s.Place().Comm), 1, 1, []byte{0}); !errors.Is(err, comm.ErrClosed) {
				return fmt.Errorf("a message of a body that has returned: %v", err)
			}
			// From here on it is known to have returned.
			large, got := make([]byte, 1<<20), []byte{0}
			if err := comm.Send(ctx, d, 1, 1, large); err != nil {
				return err
			}
			if _, _, err := comm.Recv(ctx, d, 1, 2, got); err != nil {
				return err
			}
		}
		_, err = s.End(ctx, driver.Verdict{})
		return errors.Join(err, <-answered)
	}))
}

func serve(ctx context.Context, c *comm.Comm) error {
	if _, _, err := comm.Recv(ctx, c, 0, 1, make([]byte, 1<<20)); err != nil {
		return err
	}
	return comm.Send(ctx, c, 0, 2, []byte{1})
}
