package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/control"
)

// Revoke makes the communicator unusable for all of its ranks.
func (c *communicator) Revoke() {
	b := c.box
	b.ep.revoke(b.id, false)
	b.ep.up(control.Message{Kind: control.KindRevoke, Revoke: &control.Revoke{Comm: b.id}})
}

// Revoked is closed when the communicator has been revoked.
func (c *communicator) Revoked() <-chan struct{} { return c.box.isRevoked }

// Agree returns the bitwise and of all flags.
func (c *communicator) Agree(ctx context.Context, flags uint64) (uint64, error) {
	j := control.Join{Op: control.OpAgree, Flags: flags}
	b := c.box
	b.ep.mu.Lock()
	for r, ok := range b.accepted {
		if ok {
			j.Acknowledged = append(j.Acknowledged, b.procs[r])
		}
	}
	b.ep.mu.Unlock()
	m, err := b.ep.join(ctx, b, j)
	if err != nil {
		return 0, err
	}
	return m.Flags, b.failedError(m.Failed)
}

// Shrink makes a communicator of the ranks that are alive.
func (c *communicator) Shrink(ctx context.Context) (comm.Comm, error) {
	return c.make(ctx, control.Join{Op: control.OpShrink})
}

// Split makes communicators of the ranks with the same color.
func (c *communicator) Split(ctx context.Context, color, key int) (comm.Comm, error) {
	return c.make(ctx, control.Join{Op: control.OpSplit, Color: color, Key: key})
}

// Spawn starts processes for original ranks that are missing.
func (c *communicator) Spawn(ctx context.Context, missing []comm.OriginalRank) (comm.Comm, error) {
	j := control.Join{Op: control.OpSpawn, Missing: missing}
	if err := control.CheckOriginals(missing); err != nil {
		// The others must not wait: to ask for a process that is alive is refused
		// at all ranks.
		j.Missing = []comm.OriginalRank{c.box.ep.original}
		_, refused := c.make(ctx, j)
		return nil, errors.Join(fmt.Errorf("spawn: %w: original ranks %v: %w", ErrControl, missing, err), refused)
	}
	return c.make(ctx, j)
}

func (c *communicator) make(ctx context.Context, j control.Join) (comm.Comm, error) {
	b := c.box
	j.InZone = b.ep.inZone.Load()
	m, err := b.ep.join(ctx, b, j)
	if err == nil {
		err = b.failedError(m.Failed)
	}
	if err != nil || m.New == nil {
		return nil, err
	}
	return &communicator{b.ep.enter(m)}, nil
}

// failedError names processes as ranks; nil if there are none.
func (b *mailbox) failedError(procs []control.Proc) error {
	if len(procs) == 0 {
		return nil
	}
	b.ep.lose(procs, failed) // the notice may be later than the outcome
	return &comm.FailedError{Ranks: b.ranks(func(r int) bool { return slices.Contains(procs, b.procs[r]) })}
}
