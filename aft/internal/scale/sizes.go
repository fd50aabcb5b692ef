package scale

import (
	"fmt"
	"io"

	"github.com/craft-go/craft/aft/internal/control"
)

// part is a message on its way between the root and the daemon of a node.
type part struct {
	node control.Node // whose daemon it is for, or from
	m    control.Message
	key  any // the same for messages that differ in Message.To alone; nil: there is no other one
	body int // bytes without To
	to   int // bytes of To
}

func (p part) bytes() int { return p.body + p.to }

// sizes are the lengths of messages that many get, encoded, without To.
type sizes map[any]int

// part makes one of a message. It reports whether its body has been there before.
func (s sizes) part(node control.Node, m control.Message) (p part, again bool) {
	p = part{node: node, m: m, key: identity(m)}
	if len(m.To) > 0 {
		p.to = encoded(control.Message{Kind: control.KindStop, To: m.To}) - encoded(control.Message{Kind: control.KindStop})
	}
	m.To = nil
	if p.key == nil {
		p.body = encoded(m)
		return p, false
	}
	if p.body, again = s[p.key]; !again {
		p.body = encoded(m)
		s[p.key] = p.body
	}
	return p, again
}

// identity is what messages have in common that root and daemons send to many.
func identity(m control.Message) any {
	switch m.Kind {
	case control.KindMade:
		return m.Made
	case control.KindRevoke:
		return m.Revoke
	case control.KindPeers:
		return &m.Peers[0]
	case control.KindFailed:
		for _, list := range [][]control.Proc{m.Failed, m.Left, m.Away} {
			if len(list) > 0 {
				return &list[0]
			}
		}
	}
	return nil
}

func encoded(m control.Message) int {
	var n counter
	if err := control.WriteMessage(&n, m); err != nil {
		panic(fmt.Sprintf("scale: %v", err)) // the machines send what can be sent
	}
	return int(n)
}

type counter int

var _ io.Writer = (*counter)(nil)

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
