package memory

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/craft-go/craft/internal/offheap"
)

// ErrLimit is matched when more memory would be needed than may be used. What was there
// before is still there.
var ErrLimit = errors.New("memory for versions is full")

const (
	extentSize   = 256 << 10 // as a chunk of a version that shares some with the one before
	smallestSlab = 2 << 20   // of extents that are mapped together
	largestSlab  = 16 << 20
)

// extent is a piece of memory.
type extent struct {
	b     []byte
	users int // objects that it is in, and writers; the lock of the extents guards it
}

// extents are all of a rank.
type extents struct {
	limit int64 // bytes; 0: none

	mu     sync.Mutex
	slabs  *slabs
	free   []*extent // that were used, the last one first
	fresh  []byte    // mapped, and never used
	used   int64     // bytes of those in use
	most   int64     // that ever were
	closed bool
}

// slabs are what is mapped.
type slabs struct{ list [][]byte }

func (s *slabs) unmap() {
	for _, slab := range s.list {
		_ = offheap.Release(slab)
	}
	s.list = nil
}

func newExtents(limit int64) *extents {
	x := &extents{limit: limit, slabs: &slabs{}}
	runtime.AddCleanup(x, func(s *slabs) { s.unmap() }, x.slabs) // of a rank that was killed in the process of others
	return x
}

// take returns an extent for one user.
func (x *extents) take() (*extent, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed:
		return nil, errClosed
	case x.limit > 0 && x.used+extentSize > x.limit:
		return nil, fmt.Errorf("%w: %d bytes are in use, allowed are %d (CRAFT_MEM_LIMIT)", ErrLimit, x.used, x.limit)
	}
	var e *extent
	if n := len(x.free); n > 0 {
		e, x.free = x.free[n-1], x.free[:n-1]
	} else {
		if len(x.fresh) == 0 {
			if err := x.grow(); err != nil {
				return nil, err
			}
		}
		e = &extent{b: x.fresh[:extentSize:extentSize]}
		x.fresh = x.fresh[extentSize:]
	}
	e.users = 1
	x.used += extentSize
	x.most = max(x.most, x.used)
	return e, nil
}

// grow maps as much as there is, within bounds, if the system has so much left.
func (x *extents) grow() (err error) {
	size := 0
	for _, slab := range x.slabs.list {
		size += len(slab)
	}
	size = min(max(size, smallestSlab), largestSlab)
	if left := offheap.Available(); left < int64(size) {
		return fmt.Errorf("%w: %d bytes are in use, and the system has %d left", ErrLimit, x.used, left)
	}
	if x.fresh, err = offheap.Allocate(size); err != nil {
		return fmt.Errorf("%w: %w", ErrLimit, err)
	}
	x.slabs.list = append(x.slabs.list, x.fresh)
	return nil
}

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
			x.free = append(x.free, p.of)
			x.used -= extentSize
		}
	}
	x.unmapUnused()
}

// close gives all back to the operating system when nobody uses any of it any more.
func (x *extents) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	x.unmapUnused()
}

func (x *extents) unmapUnused() {
	if x.closed && x.used == 0 {
		x.free, x.fresh = nil, nil
		x.slabs.unmap()
	}
}
