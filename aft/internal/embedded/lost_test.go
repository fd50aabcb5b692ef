package embedded

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// noCredit is where buffered messages of a test come from.
type noCredit struct{}

func (noCredit) consumed(int) {}

// TestMessagesBehindALostOne: a process fails whose long message was only
// announced. What it has sent behind it is not received in its place; what came
// before is, and what others have sent.
func TestMessagesBehindALostOne(t *testing.T) {
	group := control.Group{ID: 1, Procs: []control.Proc{0, 1, 2}}
	for name, known := range map[string]bool{"on a communicator that is known": true, "before it is known": false} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(0, 0)
			if known {
				e.ensure(group, 0)
			}
			from := func(source int) envelope { return envelope{comm: 1, source: source, tag: 7, length: 1} }
			first, second := &offer{ep: e}, &offer{ep: e}
			e.arrive(from(1), []byte{1}, noCredit{})
			e.announce(from(1), first)
			e.arrive(from(1), []byte{3}, noCredit{})
			e.arrive(from(2), []byte{9}, noCredit{})
			e.announce(from(1), second)
			e.arrive(from(1), []byte{5}, noCredit{})
			// As the transport does it: one after the other, in any order.
			e.lost(from(1), second)
			e.lost(from(1), first)
			b := e.ensure(group, 0)
			e.lose([]control.Proc{1}, failed)

			receive := func(source int) (byte, *request) {
				buf := make([]byte, 1)
				r := b.receive(source, 7, buf)
				q, _ := r.(*request)
				return buf[0], q
			}
			got, r := receive(1)
			require.True(t, r.done())
			require.NoError(t, r.err)
			require.EqualValues(t, 1, got)
			_, err := b.receive(1, 7, make([]byte, 1)).Wait(t.Context())
			require.ErrorIs(t, err, driver.ErrProcFailed)
			got, r = receive(2)
			require.True(t, r.done())
			require.EqualValues(t, 9, got)
			require.Nil(t, first.started)
			require.Nil(t, second.started)
			require.Empty(t, e.waiting)
		})
	}
}
