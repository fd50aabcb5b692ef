package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/storage"
)

const (
	whatRepaired = "kill to repaired world"
	whatRestored = "kill to restored values"
	whatPlain    = "plain sends of the lost values"
	whatBeyond   = "restored values beyond repaired world and plain sends"
)

// values are those of a rank, in a checkpoint at level mem.
type values struct {
	words []uint64
	cp    *checkpoint.Checkpoint
}

// restored is one attempt of a zone whose values are in memory: in turn it measures from a failure until
// all have their values again, and until the world is repaired, as if there were none.
func (m *measurement) restored(ctx context.Context, z *aft.Zone) error {
	c, round := z.Comm(), z.Epoch()
	m.result.Ranks = c.Size()
	if err := comm.Barrier(ctx, c); err != nil {
		return err
	}
	if round%2 == 0 && round > 0 {
		m.since(whatRepaired)
	}
	v, err := m.restart(ctx, c, round)
	if err != nil {
		return err
	}
	if round%2 == 1 {
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		m.since(whatRestored)
		if err := m.plain(ctx, c, v); err != nil {
			return err
		}
	}
	if c.Size() < 2 || round >= 2*m.rounds {
		m.beyond()
		return v.cp.Close()
	}
	if err := v.write(ctx, c, round); err != nil {
		return err
	}
	if round%2 == 1 {
		if err := v.cp.Close(); err != nil {
			return err
		}
	}
	z.Step(round)
	return m.fail(ctx, c, false)
}

// beyond adds, pair by pair, what restored values take beyond the repair and what must be sent.
func (m *measurement) beyond() {
	of := m.result.times.Of
	for i, took := range of[whatRestored] {
		m.result.times.Add(whatBeyond, took-of[whatRepaired][i]-of[whatPlain][i])
	}
}

// since adds what has passed since the last failure, on the rank that has made it.
func (m *measurement) since(what string) {
	if !m.killed.IsZero() {
		m.result.add(what, time.Since(m.killed))
	}
}

// restart opens the checkpoint; what comes back is checked.
func (m *measurement) restart(ctx context.Context, c *comm.Comm, round int) (*values, error) {
	mem, err := storage.ParseLevel("mem")
	if err != nil {
		return nil, err
	}
	if m.words == nil {
		m.words = make([]uint64, m.mib<<20/8)
	}
	v := &values{words: m.words}
	if v.cp, err = checkpoint.New("values", c, checkpoint.WithLevels(mem.Every(1)), checkpoint.WithLogger(slog.New(slog.DiscardHandler))); err != nil {
		return nil, err
	}
	if err := errors.Join(v.cp.Add("words", &v.words), v.cp.Commit()); err != nil {
		return nil, err
	}
	iteration := 0
	if err := v.cp.RestartIfNeeded(ctx, &iteration); err != nil {
		return nil, err
	}
	if iteration != round {
		return nil, fmt.Errorf("rank %d goes on with version %d, not %d", c.Rank(), iteration, round)
	}
	return v, nil
}

// word is what a rank has written in a round.
func word(rank comm.Rank, round, i int) uint64 {
	return (uint64(rank)<<48 + uint64(round)<<32 + uint64(i) + 1) * 0x9e3779b97f4a7c15
}

// write makes the version of a round, when the values of the one before are what they have to be.
func (v *values) write(ctx context.Context, c *comm.Comm, round int) error {
	for i, w := range v.words {
		if round > 0 && w != word(c.Rank(), round-1, i) {
			return fmt.Errorf("word %d of rank %d was not restored as it was written in round %d", i, c.Rank(), round-1)
		}
		v.words[i] = word(c.Rank(), round, i)
	}
	err := v.cp.UpdateAndWrite(ctx, round, 1)
	clear(v.words) // so that what is there after the failure is what came back
	return err
}

// plain measures what must be sent of the values: those of the last rank, to its replacement. The first
// time makes the connection and touches the memory.
func (m *measurement) plain(ctx context.Context, c *comm.Comm, v *values) error {
	last := comm.Rank(c.Size() - 1)
	room := make([]uint64, len(v.words))
	var took time.Duration
	for range 2 {
		var receive comm.Request
		if c.Rank() == last {
			receive = comm.Irecv(c, 0, 0, room)
		}
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		began := time.Now()
		switch c.Rank() {
		case 0:
			if err := comm.Send(ctx, c, last, 0, v.words); err != nil {
				return err
			}
		case last:
			if _, err := receive.Wait(ctx); err != nil {
				return err
			}
		}
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		took = time.Since(began)
	}
	m.result.add(whatPlain, took)
	return nil
}
