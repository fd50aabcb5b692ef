package demand

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type nobody struct{}

func (nobody) Ask(Demand)    {}
func (nobody) Passed(Passed) {}

// A call that comes when the part of the process in the job has ended waits for no meeting.
func TestCallAfterTheEndOfTheJob(t *testing.T) {
	p := NewPoint(nobody{})
	lane := p.Join(World)
	p.Hold(time.Now(), Hold{Serial: 1, Demands: []Demand{{Cause: Deadline, Left: NoLimit}}})
	p.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := lane.Call(ctx)
	require.ErrorIs(t, err, ErrClosed)
}

// What a process does by itself after it has left a job is decided by itself.
func TestOwnAfterTheJob(t *testing.T) {
	process, point := NewProcess(), NewPoint(nobody{})
	leave := process.Belong(point)
	own, _ := process.Own()
	require.Same(t, point, own)
	leave()
	point.Close()
	own, lane := process.Own()
	require.NotSame(t, point, own)
	at := own.Join(lane)
	process.Ask(Demand{Cause: Deadline, Left: NoLimit})
	m, err := at.Call(t.Context())
	require.NoError(t, err)
	require.NotNil(t, m)
}
