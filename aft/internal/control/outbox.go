package control

import (
	"log/slog"
	"strings"
)

// outbox is what the root wants done. Behind the end of the job nothing comes into it.
type outbox struct {
	nodes []*node
	list  []Action
	ended bool
	// defeat is why another deployment may follow; nil: the job has ended as it wanted to, or would
	// end in the same way again.
	defeat *defeat
	// exhausted: the ledger has ended the job, because processes have failed again and again.
	exhausted bool
	requeue   int // RootConfig.RequeueCode
}

func (b *outbox) send(n *node, m Message) { b.sendOf(nil, n, m) }

func (b *outbox) sendOf(body *Body, n *node, m Message) {
	if n.reachable() {
		b.put(Action{Send: &Send{Node: n.id, Message: m, Body: body}})
	}
}

func (b *outbox) broadcast(m Message) {
	body := new(Body)
	for _, n := range b.nodes {
		if n.ready {
			b.sendOf(body, n, m)
		}
	}
}

// sendTo sends m to processes, with one message for each node, which names them unless they are all that
// are there: else each message would grow with the ranks of a node.
func (b *outbox) sendTo(to []*process, m Message) {
	byNode, body := make(map[Node][]*process), new(Body)
	for _, p := range to {
		byNode[p.node.id] = append(byNode[p.node.id], p)
	}
	for _, n := range b.nodes {
		list := byNode[n.id]
		if len(list) == 0 {
			continue
		}
		m.To = ids(list)
		if len(only(list, (*process).present)) == n.present {
			m.To = nil
		}
		b.sendOf(body, n, m)
	}
}

func (b *outbox) note(level slog.Level, text string, attrs ...any) {
	b.put(Action{Note: &Note{Level: level, Text: text, Attrs: attrs}})
}

func (b *outbox) fence(n *node) { b.put(Action{Fence: &n.id}) }

// end gives the job up.
func (b *outbox) end(code int, report string) {
	b.stop(End{Code: code, Report: report, GaveUp: true})
}

// giveUp is end because of processes that have failed, which another deployment may do without.
func (b *outbox) giveUp(code int, report string, lost []*process) {
	if b.defeat = b.defeatOf(lost); b.defeat != nil {
		why, _, _ := strings.Cut(report, "\n")
		why, _, _ = strings.Cut(why, ";")
		b.defeat.what += " (" + why + ")"
	}
	b.end(code, report)
}

// abort is end because of processes that have failed, whom the report names.
func (b *outbox) abort(code int, report string, lost []*process) {
	b.defeat = b.defeatOf(lost)
	b.end(code, report)
}

// stop stops everything.
func (b *outbox) stop(e End) {
	for _, n := range b.nodes { // those that have not reported yet too
		b.send(n, Message{Kind: KindStop})
	}
	b.put(Action{End: &e})
	b.ended = true
}

func (b *outbox) put(a Action) {
	if !b.ended {
		b.list = append(b.list, a)
	}
}

func (b *outbox) take() []Action {
	out := b.list
	b.list = nil
	return out
}
