package recovery

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/bench/program"
	"github.com/craft-go/craft/internal/env"
)

const (
	whatAgain    = "kill to the first barrier of all"
	whatDetected = "  of that until rank 0 knew"
)

// again is one attempt of -what again: how long after the kill all have met, and the next failure.
func (m *measurement) again(ctx context.Context, z *aft.Zone) error {
	c := z.Comm()
	if err := comm.Barrier(ctx, c); err != nil {
		return err
	}
	m.result.Ranks = c.Size()
	before, err := strconv.Atoi(cmp.Or(os.Getenv(env.Restart), "0")) // deployments
	if err != nil {
		return err
	}
	failures := before + z.Epoch()
	if failures > 0 && c.Rank() == 0 {
		if err := m.met(); err != nil {
			return err
		}
	}
	if failures >= m.rounds {
		return nil
	}
	select { // a spare rank is started beside the others, and again when it was taken
	case <-time.After(m.pause):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	z.Step(failures)
	return m.killNoted(ctx, c)
}

// met is called when all have met again.
func (m *measurement) met() error {
	now := time.Now()
	if m.restarts == 0 {
		m.result.add(whatAgain, now.Sub(m.killed))
		return nil
	}
	noted, err := os.ReadFile(m.note)
	if err != nil {
		return err
	}
	at, err := strconv.ParseInt(string(noted), 10, 64)
	if err != nil {
		return err
	}
	m.result.add(whatAgain, now.Sub(time.Unix(0, at)))
	return nil
}

// killNoted kills the last rank, or the daemon of its node, and waits for the news.
func (m *measurement) killNoted(ctx context.Context, c *comm.Comm) error {
	pids, err := program.Processes(ctx, c)
	if err != nil {
		return err
	}
	victim := c.Size() - 1
	if c.Rank() == 0 {
		pid := pids[victim]
		if m.node {
			if pid, err = parent(pid); err != nil {
				return err
			}
		}
		m.killed = time.Now()
		defer func() { m.result.add(whatDetected, time.Since(m.killed)) }()
		if m.restarts > 0 { // rank 0 will be another process
			if err := os.WriteFile(m.note, strconv.AppendInt(nil, m.killed.UnixNano(), 10), 0o600); err != nil {
				return err
			}
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return err
		}
	}
	_, _, err = comm.Recv(ctx, c, comm.Rank(victim), 0, []byte{0})
	return err
}
