package embedded

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// TestLeaseOfASpareRank: it has slept for long when it is woken, and may act as a rank when its daemon
// has answered.
func TestLeaseOfASpareRank(t *testing.T) {
	now := time.Unix(1000, 0)
	timing := control.Timing{Period: time.Second, Lease: 5 * time.Second}
	l := startLease(timing, func() time.Time { return now }, func() time.Duration { return 0 })
	now = now.Add(time.Hour)
	_, err := l.permits()
	require.ErrorIs(t, err, driver.ErrFenced)

	l.wake()
	unsure, err := l.permits()
	require.NoError(t, err)
	require.NotNil(t, unsure)
	seq, err := l.next()
	require.NoError(t, err)
	l.renew(control.Pulse{Seq: seq, Left: time.Second}) // the daemon has not heard the root for a while
	<-unsure
	now = now.Add(time.Second)
	unsure, err = l.permits()
	require.NoError(t, err)
	require.Nil(t, unsure)
	now = now.Add(time.Millisecond)
	_, err = l.permits()
	require.ErrorIs(t, err, driver.ErrFenced)
}
