package checkpoint

import (
	"context"
	"errors"

	"github.com/craft-go/craft/aft/comm"
)

// onRelease closes the checkpoint because its communicator is given up: nothing of
// it may touch the program's values or the directory after that. It is called by the
// goroutine of a body that has ended, or is in Zone.Repair, and waits for no call: that
// could be one that has led to Repair (an Update), or one of a goroutine that the body has
// left behind, which waits for other ranks.
func (cp *Checkpoint) onRelease(context.Context) error {
	if cp.calling.TryLock() {
		defer cp.calling.Unlock()
	}
	if cp.closed {
		return nil
	}
	err := cp.close()
	cp.released = true
	if err != nil {
		cp.log.Warn("closed because its communicator is given up", "error", err)
	}
	return nil
}

// afterClose says why a call comes too late.
func (c *core) afterClose(call string) string {
	if c.released {
		return call + " after its communicator was given up (a failure was repaired, or the zone has ended): make a new checkpoint on the new communicator"
	}
	return call + " after Close"
}

// commFailed reports that an error is one of the communicator itself: processes
// have failed, or it was revoked. Then no collective call can help.
func commFailed(err error) bool {
	var remote *RankError
	return !errors.As(err, &remote) && (errors.Is(err, comm.ErrProcFailed) || errors.Is(err, comm.ErrRevoked))
}
