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
	var left []*message
	if !b.dead() {
		b.closed = driver.ErrClosed
		left = b.abandon(driver.ErrClosed, nil)
	}
	e.mu.Unlock()
	if e.wire != nil {
		e.wire.revoke(b.id, driver.ErrClosed)
	}
	for _, m := range left {
		e.drop(m)
	}
	e.up(control.Message{Kind: control.KindFree, Free: &control.Free{Proc: e.self, Comm: b.id}})
}

// drop is refuse, but an announced message is sent, and none of it taken.
func (e *endpoint) drop(m *message) {
	if m.announced == nil {
		m.refuse()
		return
	}
	nowhere := &request{box: &mailbox{ep: e, closed: driver.ErrClosed}}
	nowhere.recv.request = nowhere
	m.announced.into(&nowhere.recv).start()
}
