package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// TestFreedCommunicatorsLeaveNothing: neither at the rank nor at its daemon nor at the
// root, nor in memory.
func TestFreedCommunicatorsLeaveNothing(t *testing.T) {
	var before, after int
	require.NoError(t, RunInproc(t.Context(), InprocConfig{Ranks: 2}, func(ctx context.Context, r *InprocRank) error {
		c := comm.New(r.session.place.Comm)
		for i := range 10_000 {
			d, err := c.Dup(ctx)
			if err != nil {
				return err
			}
			if i%100 == 0 {
				if _, err := comm.AllreduceOne(ctx, d, 1, comm.Sum[int]); err != nil {
					return err
				}
			}
			d.Free()
			d.Free() // it is
			if i == 10 && c.Rank() == 0 {
				before = heap()
			}
		}
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		if c.Rank() == 0 {
			after = heap()
		}
		if boxes := len(r.session.ep.boxes); boxes != 1 {
			return fmt.Errorf("%d communicators are kept", boxes)
		}
		sizes := make(chan int, 2)
		r.cluster.post(func(time.Time) { sizes <- r.cluster.root.Communicators() })
		if n := <-sizes; n > 2 { // the other one may be behind
			return fmt.Errorf("the root keeps %d communicators", n)
		}
		return comm.Barrier(ctx, c)
	}))
	require.Less(t, after-before, 64<<10, "bytes that 10,000 communicators have left")
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestSendsToAFreedCommunicator: nobody waits for a rank that has no use for it any more, and
// it cannot use it either.
func TestSendsToAFreedCommunicator(t *testing.T) {
	require.NoError(t, Run(t.Context(), 2, func(ctx context.Context, world driver.Comm) error {
		c := comm.New(world)
		d, err := c.Dup(ctx)
		if err != nil {
			return err
		}
		waits := comm.Isend(d, 1, 1, make([]byte, 1<<20)) // both send to rank 1, before it frees and after
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		if c.Rank() == 1 {
			posted := comm.Irecv(d, 0, 9, make([]byte, 1))
			d.Free()
			if _, err := posted.Wait(ctx); !errors.Is(err, comm.ErrClosed) {
				return fmt.Errorf("receive on what was freed: %v", err)
			}
			if err := comm.Send(ctx, d, 0, 1, []byte{1}); !errors.Is(err, comm.ErrClosed) {
				return fmt.Errorf("send on what was freed: %v", err)
			}
			if _, err := d.Dup(ctx); !errors.Is(err, comm.ErrClosed) {
				return fmt.Errorf("dup of what was freed: %v", err)
			}
		}
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		if c.Rank() == 0 {
			_, err = waits.Wait(ctx)
			err = errors.Join(err, comm.Send(ctx, d, 1, 1, []byte{1}), comm.Send(ctx, d, 1, 1, make([]byte, 1<<20)))
		}
		return errors.Join(err, comm.Barrier(ctx, c))
	}))
}

// TestRevokeReachesWhatWasMadeOfAFreedOne.
func TestRevokeReachesWhatWasMadeOfAFreedOne(t *testing.T) {
	require.NoError(t, RunInproc(t.Context(), InprocConfig{Ranks: 2}, func(ctx context.Context, r *InprocRank) error {
		s := r.Session()
		c := comm.New(s.Place().Comm)
		d, err := c.Dup(ctx)
		if err != nil {
			return err
		}
		e, err := d.Dup(ctx)
		if err != nil {
			return err
		}
		d.Free()
		if c.Rank() == 0 {
			s.Revoke()
		}
		_, _, err = comm.Recv(ctx, e, 1-c.Rank(), 1, make([]byte, 1))
		if !errors.Is(err, comm.ErrRevoked) {
			return err
		}
		return nil
	}))
}

// TestOperationOfAFreedOne: who waits in one for a rank that has freed it hears of it.
func TestOperationOfAFreedOne(t *testing.T) {
	require.NoError(t, Run(t.Context(), 2, func(ctx context.Context, world driver.Comm) error {
		c := comm.New(world)
		d, err := c.Dup(ctx)
		if err != nil {
			return err
		}
		if c.Rank() == 1 {
			d.Free()
		} else if _, err := d.Agree(ctx, 1); !errors.Is(err, comm.ErrRevoked) {
			return fmt.Errorf("agreement with one who has freed it: %v", err)
		}
		return comm.Barrier(ctx, c)
	}))
}

// TestWireDropsForFreedCommunicators: a message of another process that was announced before is taken,
// and dropped, and one that comes later.
func TestWireDropsForFreedCommunicators(t *testing.T) {
	e := newEndpoint(0, 0)
	e.up = func(control.Message) {}
	e.ensure(control.Group{ID: 1, Procs: []control.Proc{0, 1}}, 0)
	b := e.ensure(control.Group{ID: 2, Procs: []control.Proc{0, 1}}, 1)
	v := envelope{comm: 2, source: 1, tag: 7, length: 1}
	before, after, credit := &offer{ep: e}, &offer{ep: e}, &refund{}
	e.announce(v, before)
	e.free(b)
	require.NotNil(t, before.started)
	e.announce(v, after)
	require.NotNil(t, after.started)
	e.arrive(v, []byte{1}, credit)
	require.Equal(t, eagerPrice(1), credit.bytes)
	require.Empty(t, e.early)
	v.comm = 3 // one that is not known yet
	e.arrive(v, []byte{1}, credit)
	require.Len(t, e.early, 1)
}

// TestFreeWhileAnOperationIsUnderWay: it may come to the root after all have freed the
// communicator, which nobody knows there any more. Who waits hears of it.
func TestFreeWhileAnOperationIsUnderWay(t *testing.T) {
	require.NoError(t, Run(t.Context(), 2, func(ctx context.Context, world driver.Comm) error {
		d, err := world.(driver.Maker).Split(0, 0, driver.Options{}).Wait(ctx)
		if err != nil {
			return err
		}
		var under driver.Agreement
		if d.Rank() == 0 {
			under = d.(driver.Agreer).Agree(1)
		}
		d.(driver.Freer).Free()
		if under != nil {
			soon, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			if _, err := under.Wait(soon); !errors.Is(err, comm.ErrRevoked) {
				return fmt.Errorf("agreement on what all have freed: %v", err)
			}
		}
		return comm.Barrier(ctx, comm.New(world))
	}))
}

// TestSendToWhoHasFreedAndDied: the communicator was not revoked.
func TestSendToWhoHasFreedAndDied(t *testing.T) {
	var procs [2]*endpoint
	for p := range procs {
		e := newEndpoint(control.Proc(p), control.Original(p))
		e.up = func(control.Message) {}
		e.peer = func(p control.Proc) *endpoint { return procs[p] }
		procs[p] = e
	}
	var boxes [2]*mailbox
	for p, e := range procs {
		e.ensure(control.Group{ID: 1, Procs: []control.Proc{0, 1}}, 0)
		boxes[p] = e.ensure(control.Group{ID: 2, Procs: []control.Proc{0, 1}}, 1)
	}
	procs[1].free(boxes[1])
	procs[1].close(ErrKilled)
	_, err := (&communicator{boxes[0]}).Isend(1, 7, []byte{1}).Wait(t.Context())
	require.NoError(t, err, "dropped: nobody has said yet that it is dead")
}

// TestFreeMeetsASend: the receiver has given the communicator back between the moment in which
// the sender has found its mailbox and the one in which it uses that. Nobody has failed.
func TestFreeMeetsASend(t *testing.T) {
	e := newEndpoint(1, 1)
	e.up = func(control.Message) {}
	e.ensure(control.Group{ID: 1, Procs: []control.Proc{0, 1}}, 0)
	b := e.ensure(control.Group{ID: 2, Procs: []control.Proc{0, 1}}, 1)
	e.free(b)
	for _, length := range []int{1, eagerLimit + 1} {
		_, err := b.send(0, 7, pieces{first: make([]byte, length)}).Wait(t.Context())
		require.NoError(t, err, "%d bytes are dropped", length)
	}
}

// TestOneCommunicatorAfterTheOther, each made of the last one, which is freed then.
func TestOneCommunicatorAfterTheOther(t *testing.T) {
	const many = 3000
	require.NoError(t, RunInproc(t.Context(), InprocConfig{Ranks: 1}, func(ctx context.Context, r *InprocRank) error {
		c := comm.New(r.session.place.Comm)
		for range many {
			next, err := c.Dup(ctx)
			if err != nil {
				return err
			}
			c.Free()
			c = next
		}
		for _, b := range r.session.ep.boxes {
			if len(b.made) > 2 {
				return fmt.Errorf("a communicator knows %d others", len(b.made))
			}
		}
		return nil
	}))
}

// TestNobodyWaitsForWhatIsMade: the context of one rank had ended before. The communicator
// is made for the others, and leaves nothing here.
func TestNobodyWaitsForWhatIsMade(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	soon, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	require.NoError(t, RunInproc(soon, InprocConfig{Ranks: 2}, func(ctx context.Context, r *InprocRank) error {
		c := comm.New(r.session.place.Comm)
		wait := ctx
		if c.Rank() == 0 {
			wait = ended
		}
		if c.Rank() == 1 {
			if err := comm.Barrier(ctx, c); err != nil { // the other one has given up
				return err
			}
		}
		d, err := c.Dup(wait)
		if c.Rank() == 0 {
			if !errors.Is(err, context.Canceled) {
				return fmt.Errorf("Dup with a context that has ended: %v", err)
			}
			return errors.Join(comm.Barrier(ctx, c), r.forgets(ctx, c))
		}
		if err != nil {
			return err
		}
		d.Free()
		return r.forgets(ctx, c)
	}))
}

// forgets waits until neither this rank nor the root has another communicator than c.
func (r *InprocRank) forgets(ctx context.Context, c *comm.Comm) error {
	e := r.session.ep
	for {
		counts := make(chan int, 1)
		r.cluster.post(func(time.Time) { counts <- r.cluster.root.Communicators() })
		n := <-counts
		e.mu.Lock()
		n = max(n, len(e.boxes))
		e.mu.Unlock()
		switch {
		case n == 1:
			return comm.Barrier(ctx, c)
		case ctx.Err() != nil:
			return fmt.Errorf("%d communicators are kept", n)
		}
		runtime.Gosched()
	}
}
