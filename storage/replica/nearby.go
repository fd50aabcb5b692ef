package replica

import (
	"os"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/offheap"
)

// nearby is what a rank knows of others whose memory it can open, and they its own. It is used by
// operations only, and by Open when none is under way.
type nearby struct {
	opens    map[comm.Rank]bool // ranks whose memory this one can open
	openedBy map[comm.Rank]bool // ranks that can open this one's
	windows  map[offheap.Address]*window
	submits  uint64
}

// window is memory of another rank. It stays for the versions that come, which are in the same memory by
// turns. A submit maps what was open before, because writing to it is faster then.
type window struct {
	*offheap.Window
	used uint64 // the submit that has last used it
}

// location is where something is in the memory of a rank, for those that can open it.
type location struct {
	Address offheap.Address // zero: nowhere
	Begin   int64
}

// process tells ranks of different processes apart. Those of one send messages.
var process = func() int64 { return int64(os.Getpid()) }

// nearby are those that one of the ranks which have met can share memory with, as far as is known.
func (m meeting) nearby(own comm.Rank) nearby {
	n := nearby{opens: make(map[comm.Rank]bool), openedBy: make(map[comm.Rank]bool), windows: make(map[offheap.Address]*window)}
	for r, told := range m {
		if m.together(r, int(own)) && told[introProcess] != m[own][introProcess] {
			n.opens[comm.Rank(r)], n.openedBy[comm.Rank(r)] = true, true
		}
	}
	return n
}

// together reports whether two ranks are known to be on one host. Nodes of the job need not be hosts.
func (m meeting) together(a, b int) bool {
	return m[a][introVicinity] == m[b][introVicinity] && m[a][introVicinity] != 0
}

// shares reports whether any rank can open this one's memory.
func (n *nearby) shares() bool { return len(n.openedBy) > 0 }

// open opens memory, unless it is open.
func (n *nearby) open(a offheap.Address) (*window, error) {
	if w := n.windows[a]; w != nil {
		w.used = n.submits
		return w, nil
	}
	opened, err := openMemory(a)
	if err != nil {
		return nil, err
	}
	w := &window{opened, n.submits}
	n.windows[a] = w
	return w, nil
}

// openMemory is replaced by tests.
var openMemory = offheap.Address.Open

// unreachable is for a rank whose memory cannot be used: what is for it, or of it, travels as messages from now on.
func (s *Store) unreachable(r comm.Rank, why error) {
	delete(s.nearby.opens, r)
	s.options.Log.Info("copies travel as messages between this rank and another one of its host", "store", s.name, "rank", r, "err", why)
}

// forget gives back what neither this submit has used nor the one before, whose memory is the next one's.
func (n *nearby) forget() {
	for a, w := range n.windows {
		if w.used+1 < n.submits {
			n.close(a)
		}
	}
}

// leave gives everything back.
func (n *nearby) leave() {
	for a := range n.windows {
		n.close(a)
	}
	n.opens, n.openedBy = nil, nil
}

func (n *nearby) close(a offheap.Address) {
	_ = n.windows[a].Close() // it was open
	delete(n.windows, a)
}
