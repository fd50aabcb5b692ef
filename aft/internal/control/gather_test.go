package control

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRevokedOnce: each rank asks for it after a failure, and the root is asked once by each node, until there
// may be more to revoke.
func TestRevokedOnce(t *testing.T) {
	s := newDaemonScript(t)
	world := Message{Kind: KindRevoke, Revoke: &Revoke{Comm: 1, Derived: true}}
	asked := func() int {
		n := 0
		for _, a := range s.out {
			if a.ToRoot != nil && a.ToRoot.Kind == KindRevoke {
				n++
			}
		}
		s.out = nil
		return n
	}
	both := func() {
		s.rank(4, world)
		s.rank(5, world)
	}
	both()
	require.Equal(t, 1, asked())
	s.rank(4, Message{Kind: KindRevoke, Revoke: &Revoke{Comm: 1}})
	s.rank(4, Message{Kind: KindRevoke, Revoke: &Revoke{Comm: 2, Derived: true}})
	require.Equal(t, 2, asked(), "something else")

	s.root(Message{Kind: KindFailed, Failed: []Proc{3}})
	both()
	require.Equal(t, 1, asked(), "now it begins a recovery")

	s.root(Message{Kind: KindMade, To: []Proc{4, 5}, Made: &Made{Op: OpShrink, Comm: 1, New: &Group{ID: 3, Procs: []Proc{4, 5}}}})
	both()
	require.Equal(t, 1, asked(), "there is a communicator more that was made of it")

	s.join(4, Join{Op: OpShrink})
	both()
	require.Equal(t, 1, asked(), "what 4 waits for may have been made, and not be known here yet")
}
