package embedded

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/testtime"
)

// many is so many that quadratic work takes ten seconds.
const many = 50_000

// onTime does something that is to take long on no machine.
func onTime(t *testing.T, what string, prepare func() (work func())) {
	testtime.Marks(t, func() (missed []string) {
		work := prepare()
		began := time.Now()
		work()
		took := time.Since(began)
		t.Logf("%s: %v", what, took)
		if took > 2*time.Second {
			missed = append(missed, fmt.Sprintf("%s of %d: %v", what, many, took))
		}
		return missed
	})
}

// TestManySends: those that wait for their receiver end at once, however many
// there are; the lease of this process and of others hang on that.
func TestManySends(t *testing.T) {
	data := make([]byte, wireEager+1)
	for what, end := range map[string]func(n *node, sends []*request){
		"revoking": func(n *node, _ []*request) { n.wire.revoke(1, driver.ErrRevoked) },
		"cancelling": func(n *node, sends []*request) {
			for _, r := range sends {
				n.wire.cancel(r, driver.ErrRevoked)
			}
		},
		"the failure of the receiver": func(n *node, _ []*request) { n.wire.drop(2) },
	} {
		onTime(t, what, func() func() {
			a, _ := startNode(t, 1, fmt.Sprint(t.Name(), time.Now().UnixNano()), nil)
			sends := make([]*request, many)
			for i := range sends {
				sends[i] = a.isend(2, 1, data)
			}
			return func() {
				end(a, sends)
				for _, r := range sends {
					require.True(t, completedRequest(r))
					_, err := resultOf(r)
					require.Error(t, err)
				}
				require.NoError(t, a.wire.flush(t.Context()), "nothing is left to be sent")
			}
		})
	}
}

// TestManyMessagesOfOneWhoHasFailed are forgotten at once.
func TestManyMessagesOfOneWhoHasFailed(t *testing.T) {
	onTime(t, "losing", func() func() {
		e := newEndpoint(0, 0)
		e.ensure(control.Group{ID: 1, Procs: []control.Proc{0, 1}}, 0)
		waiting := make(map[*offer]envelope) // in any order, as the transport has them
		for range many {
			o, v := &offer{ep: e}, envelope{comm: 1, source: 1, tag: 7, length: 1}
			e.announce(v, o)
			waiting[o] = v
		}
		return func() {
			for o, v := range waiting {
				e.lost(v, o)
			}
			require.Empty(t, e.waiting)
		}
	})
}

// TestLeaseDoesNotWaitForMessages: what the root has decided may take long here, and
// the lease is renewed meanwhile.
func TestLeaseDoesNotWaitForMessages(t *testing.T) {
	near, far, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	timing := control.Timing{Period: time.Minute, Lease: time.Hour}
	conn, err := newConnection(far, near)
	require.NoError(t, err)
	p := &process{ep: newEndpoint(0, 0), conn: conn, lease: newLease(control.Setup{Timing: timing})}
	p.listen()
	seq, err := p.lease.next()
	require.NoError(t, err)
	renewed := p.lease.renewed
	require.NoError(t, far.SetWriteDeadline(time.Now().Add(wireDeadline)))
	p.ep.mu.Lock() // somebody is at it
	for range 100 {
		require.NoError(t, control.WriteMessage(far, control.Message{Kind: control.KindRevoke, Revoke: &control.Revoke{Comm: 1}}))
	}
	require.NoError(t, control.WriteMessage(far, control.Message{Kind: control.KindPulse, Pulse: &control.Pulse{Seq: seq, Left: timing.Lease}}))
	select {
	case <-renewed:
	case <-time.After(wireDeadline):
		require.FailNow(t, "the lease waits")
	}
	p.ep.mu.Unlock()
	p.left.Store(true)
	p.ep.close(errors.New("the test is over"))
	require.NoError(t, far.Close())
	p.tasks.Wait()
}
