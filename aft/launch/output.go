package launch

import (
	"time"

	"github.com/craft-go/craft/aft/internal/control"
)

// advance is credit that daemons get for output before it is written.
type advance struct {
	left  int         // bytes
	until time.Time   // deadline of the end, with half of whose time it is given; zero: there is none
	timer *time.Timer // for that
}

// aheadAtTheEnd is how much output of a job that is to end waits here, if nobody takes it.
const aheadAtTheEnd = 64 << 20

// print queues output; the daemon gets credit for it when it is written, or in advance.
func (r *root) print(n *node, o *control.Output) {
	r.mu.Lock()
	original := r.originals[o.Proc]
	n.owed += len(o.Data)
	r.advance(n)
	r.mu.Unlock()
	by := writer{r.number, o.Proc}
	r.streams[o.Stream-1].add(printed{by: by, original: original, data: o.Data, taken: func(bytes int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.pay(n, min(bytes, n.owed)) // what was not given in advance
	}})
}

// pay gives a daemon credit for output, with the lock held.
func (r *root) pay(n *node, bytes int) {
	if bytes > 0 {
		n.owed -= bytes
		r.send(n, control.Message{Kind: control.KindCredit, Credit: bytes})
	}
}

// advance gives a daemon credit for what it is owed, as far as there is any in advance, with the lock held.
func (r *root) advance(n *node) {
	bytes := min(n.owed, r.ahead.left)
	r.ahead.left -= bytes
	r.pay(n, bytes)
}

// payAhead gives daemons credit in advance, so that they, and ranks that wait for their output, can end.
func (r *root) payAhead(bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ahead.left = max(bytes, r.ahead.left)
	for _, n := range r.nodes {
		r.advance(n)
	}
}

// easeOutput has ranks get on, with half of the time of the end, that wait until somebody takes their output: they are to save.
func (r *root) easeOutput() {
	now := time.Now()
	left, limited := r.machine.EndsWithin(now)
	until := now.Add(left)
	if !limited || !r.ahead.until.IsZero() && !until.Before(r.ahead.until) {
		return
	}
	if r.ahead.timer != nil { // there is less time than there was
		r.ahead.timer.Stop()
	}
	r.ahead.until = until
	r.ahead.timer = time.AfterFunc(left/2, func() { r.payAhead(aheadAtTheEnd) })
}

// readerGone is called when nobody reads the output any more.
func (r *root) readerGone() {
	r.mu.Lock()
	r.unread = true
	r.mu.Unlock()
	r.do((*control.Root).Unread)
}

// abandon gives up the output of the job, which has ended.
func (r *root) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.abandoned:
		return
	default:
		close(r.abandoned)
	}
	for _, n := range r.nodes { // what they still have to say is output too
		n.fence()
	}
}

// abandonInTime gives up output that nobody takes before whoever has set the deadline kills this process, with whose exit
// code the job is to go on; done is called when it is not waited for any more. A job that has come to its end needs its output.
func (r *root) abandonInTime(end control.End) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left, limited := r.machine.EndsWithin(time.Now())
	if !limited || end.Code == exitOK {
		return func() {}
	}
	late := time.AfterFunc(max(left-2*outputPatience, outputPatience), r.abandon)
	return func() { late.Stop() }
}
