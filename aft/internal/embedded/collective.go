package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

func (c *communicator) Revoke() {
	b := c.box
	b.ep.revoke(b.id, false)
	b.ep.up(control.Message{Kind: control.KindRevoke, Revoke: &control.Revoke{Comm: b.id}})
}

// Revoked has the lock for the reason that FailureKnown has it.
func (c *communicator) Revoked() <-chan struct{} {
	c.box.ep.mu.Lock()
	defer c.box.ep.mu.Unlock()
	return c.box.isRevoked
}

func (c *communicator) Agree(flags uint64) driver.Agreement {
	j := control.Join{Op: control.OpAgree, Flags: flags}
	b := c.box
	b.ep.mu.Lock()
	for r, ok := range b.accepted {
		if ok {
			j.Acknowledged = append(j.Acknowledged, b.procs[r])
		}
	}
	b.ep.mu.Unlock()
	return agreement{b.ep.join(b, j)}
}

// agreement is one under way.
type agreement struct{ joined }

func (a agreement) Wait(ctx context.Context) (uint64, error) {
	m, err := a.wait(ctx)
	if err != nil {
		return 0, err
	}
	return m.Flags, a.box.failedError(m.Failed)
}

func (c *communicator) Shrink(o driver.Options) driver.Making {
	return c.make(control.Join{Op: control.OpShrink, Lasting: o.Lasting})
}

func (c *communicator) Split(color, key int, o driver.Options) driver.Making {
	return c.make(control.Join{Op: control.OpSplit, Color: color, Key: key, Lasting: o.Lasting})
}

func (c *communicator) Spawn(missing []int) driver.Making {
	j := control.Join{Op: control.OpSpawn}
	for _, o := range missing {
		j.Missing = append(j.Missing, control.Original(o))
	}
	wrong := control.CheckOriginals(j.Missing)
	if wrong != nil {
		// The others must not wait: to ask for a process that is alive is refused
		// at all ranks.
		j.Missing = []control.Original{c.box.ep.original}
		wrong = fmt.Errorf("%w: original ranks %v: %w", ErrControl, missing, wrong)
	}
	m := c.make(j)
	m.wrong = wrong
	return m
}

func (c *communicator) make(j control.Join) making {
	j.InZone = c.box.ep.progress.inZone.Load()
	return making{joined: c.box.ep.join(c.box, j)}
}

// making is a communicator that is being made.
type making struct {
	joined

	wrong error // what was asked for is not possible
}

func (k making) Wait(ctx context.Context) (driver.Comm, error) {
	m, err := k.wait(ctx)
	if err == nil {
		err = k.box.failedError(m.Failed)
	}
	if k.wrong != nil {
		return nil, errors.Join(k.wrong, err)
	}
	if err != nil || m.New == nil {
		return nil, err
	}
	return &communicator{k.box.ep.enter(m)}, nil
}

// failedError names processes as ranks; nil if there are none.
func (b *mailbox) failedError(procs []control.Proc) error {
	if len(procs) == 0 {
		return nil
	}
	b.ep.lose(procs, failed) // the notice may be later than the outcome
	return &driver.FailedError{Ranks: b.ranks(func(r int) bool { return slices.Contains(procs, b.procs[r]) })}
}
