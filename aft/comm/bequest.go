package comm

import (
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// Memory is where a process has memory that others of its host can map: see offheap.Address.
type Memory = driver.Memory

// Bequeather is a Keeper that leaves what it keeps to the process that replaces this one on its node, when
// this one has not failed, but its body is in the way of a roll-back.
type Bequeather interface {
	Keeper
	// Bequeath ends the use of what is kept, and returns where it is; none: nothing. name is what the
	// heir asks for. It must be quick: it is given up otherwise. The process ends soon after it.
	Bequeath() (name string, memory []Memory)
}

// bequestLimit is how long the keepers of a process that is about to be replaced have.
const bequestLimit = time.Second

// bequests are what is kept and can be left; late: it is not known in time. Somebody may hold a lock for ever, as the body
// does not end.
func (s *Session) bequests() (all []driver.Bequest, late bool) {
	found := make(chan []driver.Bequest, 1)
	go func() { // ends soon, or with the process
		var all []driver.Bequest
		for _, k := range s.keepers.all() {
			if b, ok := k.what.(Bequeather); ok {
				if name, memory := b.Bequeath(); len(memory) > 0 {
					all = append(all, driver.Bequest{Name: name, Memory: memory})
				}
			}
		}
		found <- all
	}()
	select {
	case all := <-found:
		return all, false
	case <-time.After(bequestLimit):
		return nil, true
	}
}

// Inherit returns what the process has left under a name in whose place this one was started on the same
// node; nil: nothing. taken is called when it is this process's: until then the next one may inherit it.
func (s *Session) Inherit(name string) (memory []Memory, taken func()) {
	if h, ok := s.engine.(driver.Heir); ok {
		return h.Inherit(name)
	}
	return nil, func() {}
}
