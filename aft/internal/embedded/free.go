package embedded

import (
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// Free forgets the communicator. The job's own one stays.
func (c *communicator) Free() { c.box.ep.free(c.box) }

// free forgets a communicator. What was sent to it, and what still will be, is dropped: the
// senders do not wait.
func (e *endpoint) free(b *mailbox) {
	if b.world {
		return
	}
	e.mu.Lock()
	if e.boxes[b.id] != b {
		e.mu.Unlock()
		return
	}
	delete(e.boxes, b.id)
	b.freed = true
	var left []announced
	if !b.dead() {
		b.closed = driver.ErrClosed
		left = b.abandon(driver.ErrClosed, nil)
	}
	e.mu.Unlock()
	if e.wire != nil {
		e.wire.revoke(b.id, driver.ErrClosed)
	}
	for _, a := range left {
		e.drop(a)
	}
	e.up(control.Message{Kind: control.KindFree, Free: &control.Free{Proc: e.self, Comm: b.id}})
}

// drop has an announced message sent, and none of it.
func (e *endpoint) drop(a announced) {
	if _, buffered := a.(eagerAbandoned); buffered {
		a.refuse()
		return
	}
	nowhere := &request{box: &mailbox{ep: e, closed: driver.ErrClosed}}
	nowhere.recv.request = nowhere
	a.into(&nowhere.recv).start()
}
