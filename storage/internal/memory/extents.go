package memory

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/craft-go/craft/internal/offheap"
)

// ErrLimit is matched when more memory would be needed than may be used. What was there
// before is still there.
var ErrLimit = errors.New("memory for versions is full")

// extents are all of a rank.
type extents struct {
	limit int64 // bytes; 0: none

	mu     sync.Mutex
	peers  int // ranks that share what the system has left; 0: not known
	slabs  *slabs
	short  bool  // the system had no more when some was wanted: what nobody uses is given back to it
	used   int64 // bytes of those in use
	most   int64 // that ever were
	closed bool
	frozen bool // what is there is left to another process
}

// slabs are what is mapped. Only the last one has extents that were never used.
type slabs struct{ list []*slab }

func (s *slabs) release() {
	for _, slab := range s.list {
		slab.release()
	}
	s.list = nil
}

// releaseIdle gives those back of which nobody uses anything.
func (s *slabs) releaseIdle() {
	s.list = slices.DeleteFunc(s.list, func(one *slab) bool {
		idle := one.idle == len(one.free)
		if idle {
			one.release()
		}
		return idle
	})
}

func newExtents(limit int64) *extents {
	x := &extents{limit: limit, slabs: &slabs{}}
	runtime.AddCleanup(x, func(s *slabs) { s.release() }, x.slabs) // of a rank that was killed in the process of others
	return x
}

// take returns 1 to n extents, one behind the other, for one user.
func (x *extents) take(n int) ([]*extent, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.frozen {
		return nil, errClosed
	}
	if x.limit > 0 {
		n = min(n, int((x.limit-x.used)/extentSize))
	}
	if n < 1 {
		return nil, fmt.Errorf("%w: %d bytes are in use, allowed are %d (CRAFT_MEM_LIMIT), in pieces of %d: while a version is written there are two, of each CRAFT_MEM_COPIES parts",
			ErrLimit, x.used, x.limit, extentSize)
	}
	from, first, n, fresh, err := x.find(n)
	if err != nil {
		return nil, err
	}
	taken := make([]*extent, n)
	for i := range taken {
		from.free[first+i] = false
		taken[i] = &extent{of: from, index: first + i, fresh: fresh, users: 1}
	}
	from.idle -= n
	x.used += int64(n) * extentSize
	x.most = max(x.most, x.used)
	return taken, nil
}

// find returns the place of up to n extents. What was used before is used again before new memory is touched.
func (x *extents) find(n int) (from *slab, first, found int, fresh bool, err error) {
	for _, s := range x.slabs.list {
		if s.idle <= found {
			continue
		}
		if at, k := s.run(n); k > found {
			from, first, found = s, at, k
		}
		if found == n {
			break
		}
	}
	if found > 0 {
		return from, first, found, false, nil
	}
	if k := len(x.slabs.list); k == 0 || x.slabs.list[k-1].fresh() == 0 {
		if err := x.grow(); err != nil {
			return nil, 0, 0, false, err
		}
	}
	from = x.slabs.list[len(x.slabs.list)-1]
	first, found = len(from.free), min(n, from.fresh())
	from.free = append(from.free, make([]bool, found)...)
	from.idle += found
	return from, first, found, true, nil
}

// grow maps as much as there is, within bounds, if the system has so much left: for all who share that, since what
// they have mapped and not touched yet is not known.
func (x *extents) grow() error {
	size := 0
	for _, s := range x.slabs.list {
		size += len(s.b)
	}
	size = min(max(size, smallestSlab), largestSlab)
	left := max(available()/int64(max(x.peers, 1))-spared, 0)
	for int64(size) > left/4 && size > smallestSlab { // others may be behind, with a larger one that they have hardly touched
		size /= 2
	}
	if x.short = left < int64(size); x.short {
		return fmt.Errorf("%w: %d bytes are in use, and this rank's share of what the system has left is %d", ErrLimit, x.used, left)
	}
	s, err := newSlab(size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLimit, err)
	}
	x.slabs.list = append(x.slabs.list, s)
	return nil
}

// spared is what is left to each rank for what its program takes meanwhile: Go's heap grows in steps.
const spared = 12 << 20

// available is replaced by tests.
var available = offheap.Available

// share adds a user of each, giveBack takes one away.
func (x *extents) share(pieces []piece) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range pieces {
		p.of.users++
	}
}

func (x *extents) giveBack(pieces []piece) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range pieces {
		if p.of.users--; p.of.users == 0 {
			s := p.of.of
			s.ended(p.of.index)
			s.free[p.of.index] = true
			s.idle++
			x.used -= extentSize
		}
	}
	if x.short {
		x.slabs.releaseIdle()
	}
	x.releaseUnused()
}

// close gives all back to the operating system when nobody uses any of it any more.
func (x *extents) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	x.releaseUnused()
}

func (x *extents) releaseUnused() {
	if x.closed && x.used == 0 {
		x.slabs.release()
	}
}
