package control

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBody: messages that share a body are those that WriteMessage writes, byte by byte.
func TestBody(t *testing.T) {
	messages := map[string]Message{
		"made":    {Kind: KindMade, Made: &Made{Comm: 1, Seq: OfZone.Seq(3), Op: OpRepair, New: &Group{ID: 2, Procs: []Proc{7, 1, 65000}}}},
		"since":   {Kind: KindMade, Made: &Made{Comm: 1, Op: OpShrink, New: &Group{ID: 2, Since: &Difference{Of: 1, Without: []Proc{7}}}}},
		"peers":   {Kind: KindPeers, Peers: []Peer{{Proc: 1, Original: 2, Node: 3, Host: "<h>\n", Address: "a"}}},
		"failed":  {Kind: KindFailed, Failed: []Proc{3}, Left: []Proc{4}},
		"revoke":  {Kind: KindRevoke, Revoke: &Revoke{Comm: 1, Derived: true}},
		"nothing": {Kind: KindStop},
	}
	for name, m := range messages {
		t.Run(name, func(t *testing.T) {
			var body Body
			var shared []byte
			for _, to := range [][]Proc{{5, 0, 4294967295}, nil, {1}} {
				m.To = to
				head, rest, err := body.Frame(m)
				require.NoError(t, err)
				var alone bytes.Buffer
				require.NoError(t, WriteMessage(&alone, m))
				require.Equal(t, alone.String(), string(head)+string(rest))
				if shared != nil {
					require.Same(t, &shared[0], &rest[0], "encoded once")
				}
				shared = rest
			}
		})
	}
	head, rest, err := (*Body)(nil).Frame(messages["revoke"])
	require.NoError(t, err)
	require.Nil(t, rest)
	m, err := ReadMessage(bytes.NewReader(head))
	require.NoError(t, err)
	require.Equal(t, messages["revoke"], m)
}

// TestBodyErrors: what must not be sent is refused to all.
func TestBodyErrors(t *testing.T) {
	body := new(Body)
	for range 2 {
		_, _, err := body.Frame(Message{Kind: KindMade, To: []Proc{1}})
		require.ErrorIs(t, err, ErrMessage)
	}
	_, _, err := new(Body).Frame(Message{Kind: KindStop, To: make([]Proc, MaxProcs+1)})
	require.ErrorIs(t, err, ErrMessage)
}
