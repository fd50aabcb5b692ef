package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/bench/program"
	"github.com/craft-go/craft/internal/stepwise"
)

// measurement is one rank's part. What it has measured outlives the attempts.
type measurement struct {
	config
	result *result
	print  bool

	words  []uint64  // values of this process, with -what restored
	killed time.Time // when rank 0 sent the signal of the present round
}

func (m *measurement) body(ctx context.Context, z *aft.Zone) error {
	stepwise.Begin(z)
	c := z.Comm()
	if m.what == "nothing" {
		return nil
	}
	m.print = c.Rank() == 0
	switch m.what {
	case "messages":
		m.result.Ranks = c.Size()
		return m.messages(ctx, c)
	case "agreeing":
		return m.agreeing(ctx, z)
	case "restored":
		return m.restored(ctx, z)
	case "again":
		return m.again(ctx, z)
	case "switches":
		m.result.Ranks = c.Size()
		return m.switches(ctx, c)
	}
	return m.recovery(ctx, z)
}

// recovery is one attempt: the end of the repair before, and the next failure.
func (m *measurement) recovery(ctx context.Context, z *aft.Zone) error {
	c := z.Comm()
	if err := comm.Barrier(ctx, c); err != nil {
		return err
	}
	if !m.killed.IsZero() {
		m.result.add(whatRepaired, time.Since(m.killed))
		if change, ok := z.Change(); ok {
			m.result.add("  gather survivors", change.Phases.Gather)
			m.result.add("  spawn processes", change.Phases.Spawn)
			m.result.add("  processes report", change.Phases.Connect)
		}
		m.killed = time.Time{}
	}
	if z.Epoch() == 0 {
		m.result.Ranks = c.Size()
		if err := m.operations(ctx, c); err != nil {
			return err
		}
	}
	if c.Size() < 2 || z.Epoch() >= 2*m.rounds {
		return nil
	}
	z.Step(z.Epoch())
	return m.fail(ctx, c, z.Epoch()%2 == 0)
}

// operations measures what survivors do, without failures.
func (m *measurement) operations(ctx context.Context, c *comm.Comm) error {
	work, err := c.Dup(ctx)
	if err != nil {
		return err
	}
	for range m.rounds {
		if err := m.timed(ctx, c, "live agree", func() error {
			_, err := work.Agree(ctx, 1)
			return err
		}); err != nil {
			return err
		}
		if err := m.timed(ctx, c, "live shrink", func() error {
			_, err := work.Shrink(ctx)
			return err
		}); err != nil {
			return err
		}
		if err := m.revokes(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (m *measurement) timed(ctx context.Context, c *comm.Comm, what string, f func() error) error {
	if err := comm.Barrier(ctx, c); err != nil {
		return err
	}
	began := time.Now()
	if err := f(); err != nil {
		return err
	}
	m.result.add(what, time.Since(began))
	return nil
}

// revokes: rank 0 revokes, until it knows that all others were interrupted.
func (m *measurement) revokes(ctx context.Context, c *comm.Comm) error {
	doomed, err := c.Dup(ctx)
	if err != nil {
		return err
	}
	return m.timed(ctx, c, "live revoke, interrupted and heard of", func() error {
		if c.Rank() == 0 {
			if err := doomed.Revoke(); err != nil {
				return err
			}
		} else {
			_, _, err := comm.Recv(ctx, doomed, 0, 0, []byte{0})
			if !errors.Is(err, comm.ErrRevoked) {
				return fmt.Errorf("a receive on a revoked communicator returned %v", err)
			}
		}
		return comm.Gather(ctx, c, 0, []byte{1}, make([]byte, c.Size()))
	})
}

// fail kills the last rank. What follows is left to the zone, or, every other
// time, the survivors shrink first, to see how long that takes by itself.
func (m *measurement) fail(ctx context.Context, c *comm.Comm, shrink bool) error {
	pids, err := program.Processes(ctx, c)
	if err != nil {
		return err
	}
	last := c.Size() - 1
	began := time.Now()
	if c.Rank() == 0 && !shrink {
		m.killed = began
	}
	err = program.Kill(ctx, c, pids, last)
	detected := time.Since(began)
	if !shrink || !errors.Is(err, comm.ErrProcFailed) {
		return err
	}
	fewer, err := c.Shrink(ctx)
	if err != nil {
		return err
	}
	if err := comm.Barrier(ctx, fewer); err != nil {
		return err
	}
	m.result.add("kill to error at a survivor", detected)
	m.result.add("kill to working shrunken communicator", time.Since(began))
	// The first that returns ends what the others are still in.
	if _, err := fewer.Agree(ctx, 1); err != nil {
		return err
	}
	return comm.ErrProcFailed
}

// sizes of messages, in bytes.
var sizes = []int{8, 1 << 10, 64 << 10, 1 << 20, 4 << 20}

// messages measures ping-pong between ranks 0 and 1.
func (m *measurement) messages(ctx context.Context, c *comm.Comm) error {
	if c.Size() < 2 {
		return errors.New("messages need two ranks")
	}
	for _, size := range sizes {
		what := fmt.Sprintf("message of %d bytes", size)
		m.result.bytes[what] = size
		count := max(20, min(2000, 64<<20/size))
		data := make([]byte, size)
		for range m.rounds {
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
			began := time.Now()
			for range count {
				if err := pingPong(ctx, c, data); err != nil {
					return err
				}
			}
			m.result.add(what, time.Since(began)/time.Duration(2*count))
		}
	}
	return nil
}

func pingPong(ctx context.Context, c *comm.Comm, data []byte) error {
	switch c.Rank() {
	case 0:
		if err := comm.Send(ctx, c, 1, 0, data); err != nil {
			return err
		}
		_, _, err := comm.Recv(ctx, c, 1, 0, data)
		return err
	case 1:
		if _, _, err := comm.Recv(ctx, c, 0, 0, data); err != nil {
			return err
		}
		return comm.Send(ctx, c, 0, 0, data)
	}
	return nil
}
