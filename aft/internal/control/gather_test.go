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

// TestGatherInWhatIsToldAsADifference: parts travel when those of all members of the node are there, also of the one
// that has just been started, and of nobody else.
func TestGatherInWhatIsToldAsADifference(t *testing.T) {
	for name, k := range map[string]struct {
		to     []Proc // who is left here; nil: all
		since  Difference
		comes  []Proc // in this order
		single bool
	}{
		"replaced": {[]Proc{4, 5}, Difference{Of: 1, Replaced: []Replaced{{3, 7}}}, []Proc{5, 4, 7}, false},
		"put in":   {[]Proc{4, 5}, Difference{Of: 1, Added: []Added{{4, 7}}}, []Proc{4, 5, 7}, false},
		"shrunk":   {[]Proc{4}, Difference{Of: 1, Without: []Proc{5}}, []Proc{4}, true},
		"all":      {nil, Difference{Of: 1, Without: []Proc{3}}, []Proc{4, 5}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDaemonScript(t)
			newcomer := Proc(7)
			if !k.single {
				s.root(Message{Kind: KindStart, Start: []Start{{Proc: newcomer, Original: 3, Epoch: 1}}})
				s.rank(newcomer, Message{Kind: KindHello, Hello: &Hello{Proc: newcomer, Version: Version}})
			}
			s.root(Message{Kind: KindMade, To: k.to, Made: &Made{Op: OpShrink, Comm: 1, New: &Group{ID: 2, Since: &k.since}}})
			s.up()
			for i, p := range k.comes {
				s.rank(p, Message{Kind: KindJoin, Joins: []Join{{Comm: 2, Op: OpAgree}}})
				if i < len(k.comes)-1 {
					require.Empty(t, s.up(), "%v are to come", k.comes[i+1:])
				}
			}
			told := s.up()
			require.Len(t, told, 1)
			require.Len(t, told[0].Joins, len(k.comes))
		})
	}
}

// TestGatherInWhatIsToldOneByOne: where one has asked for the repair, and the body of another one had ended just then,
// the numbers of their operations differ, and each is told by a message of its own.
func TestGatherInWhatIsToldOneByOne(t *testing.T) {
	s := newDaemonScript(t)
	for i, p := range []Proc{4, 5} {
		s.root(Message{Kind: KindMade, To: []Proc{p}, Made: &Made{
			Op: OpRepair, Comm: 1, Seq: OfZone.Seq(uint64(i)), New: &Group{ID: 2, Since: &Difference{Of: 1, Replaced: []Replaced{{3, 7}}}},
		}})
	}
	s.up()
	s.rank(4, Message{Kind: KindJoin, Joins: []Join{{Comm: 2, Op: OpAgree}}})
	require.Empty(t, s.up(), "5 is to come")
	s.rank(5, Message{Kind: KindJoin, Joins: []Join{{Comm: 2, Op: OpAgree}}})
	told := s.up()
	require.Len(t, told, 1)
	require.Len(t, told[0].Joins, 2)
}
