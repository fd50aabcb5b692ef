package checkpoint

import (
	"context"
	"errors"

	"github.com/craft-go/craft/aft/comm"
)

// onRelease closes the checkpoint because its communicator is given up: nothing of
// it may touch the program's values or the directory after that.
func (cp *Checkpoint) onRelease(context.Context) error {
	if cp.closed {
		return nil
	}
	err := cp.Close()
	cp.released = true
	if err != nil {
		cp.log.Warn("closed because its communicator is given up", "error", err)
	}
	return nil
}

// afterClose says why a call comes too late.
func (cp *Checkpoint) afterClose(call string) string {
	if cp.released {
		return call + " after its communicator was given up (a failure was repaired, or the zone has ended): make a new checkpoint on the new communicator"
	}
	return call + " after Close"
}

// commFailed tells that an error is one of the communicator itself: processes
// have failed, or it was revoked. Then no collective call can help.
func commFailed(err error) bool {
	var remote *RankError
	return !errors.As(err, &remote) && (errors.Is(err, comm.ErrProcFailed) || errors.Is(err, comm.ErrRevoked))
}
