package memory

import (
	"sync/atomic"
	"unsafe"

	"github.com/craft-go/craft/internal/offheap"
)

const (
	extentSize   = 256 << 10 // as a chunk of a version that shares some with the one before
	smallestSlab = 2 << 20
	largestSlab  = 64 << 20 // each takes a descriptor
	tableSize    = 4096     // of what is in front of the extents that others can read: see uses
)

// slab is memory that is mapped at once, and cut into extents. Other processes of the host can read it
// if the system allows that.
type slab struct {
	b       []byte
	segment *offheap.Segment // nil: it is this process's alone
	uses    uses             // of a segment
	free    []bool           // extents that nobody uses, of those that were ever used
	idle    int              // how many
}

// newSlab takes memory.
func newSlab(size int) (*slab, error) {
	if s, err := newSegment(tableSize + size); err == nil {
		made := &slab{b: s.Bytes[tableSize:], segment: s, uses: usesIn(s.Bytes)}
		for i := range made.uses {
			made.uses[i].Store(1)
		}
		return made, nil
	}
	b, err := offheap.Allocate(size)
	return &slab{b: b}, err
}

// uses are how often each extent has been used, from 1 on, in memory that others read: who has copied bytes, and finds
// the uses that it was told, has copied what it was told of. They only grow, so that their sum tells as much; 0 is memory
// that was given back. They have 32 bits, which are atomic for several processes on all machines.
type uses []atomic.Uint32

// usesIn are those of a segment, or of as much of it as there is.
func usesIn(segment []byte) uses {
	if len(segment) < tableSize {
		return nil
	}
	n := min((len(segment)-tableSize)/extentSize, tableSize/4)
	return unsafe.Slice((*atomic.Uint32)(unsafe.Pointer(unsafe.SliceData(segment))), n)
}

// of is the sum for n bytes at a place; 0 if any of them are given back, or it could be that of before, of extents that
// have been used again beside some that are 0 already. What was read before it is called was read before it looks.
func (u uses) of(at int64, n int) (sum uint64) {
	for i := at / extentSize; i <= (at+int64(n)-1)/extentSize && i < int64(len(u)); i++ {
		k := u[i].Add(0)
		if k == 0 {
			return 0
		}
		sum += uint64(k)
	}
	return sum
}

// ended notes that an extent has been given back, before it is used again.
func (s *slab) ended(extent int) {
	if s.uses != nil {
		s.uses[extent].Add(1)
	}
}

// newSegment is replaced by tests.
var newSegment = offheap.NewSegment

// release gives it back to the system.
func (s *slab) release() {
	if s.segment != nil {
		for i := range s.uses { // before the bytes go: who copies zeros is to find it
			s.uses[i].Store(0)
		}
		_ = s.segment.Close()
	} else {
		_ = offheap.Release(s.b)
	}
	s.b, s.uses = nil, nil
}

// run returns where n idle extents are in a row, in the shortest such row so that long ones stay whole, or else
// the most that are.
func (s *slab) run(n int) (first, found int) {
	best := 0
	for at, length := 0, 0; at <= len(s.free); at++ {
		if at < len(s.free) && s.free[at] {
			length++
			continue
		}
		if length > best && best < n || length >= n && length < best {
			first, best = at-length, length
		}
		length = 0
	}
	return first, min(n, best)
}

// fresh is how many extents were never used.
func (s *slab) fresh() int { return len(s.b)/extentSize - len(s.free) }

// extent is a piece of a slab.
type extent struct {
	of    *slab
	index int
	fresh bool // it was never used
	users int  // objects that it is in, and writers; the lock of the extents guards it
}

// room is memory in a slab.
type room struct {
	of    *slab
	at, n int
	fresh bool
}

func (r room) bytes() []byte { return r.of.b[r.at:][:r.n] }

// fill copies p to the room.
func (r room) fill(p []byte) (n int) {
	p = p[:min(len(p), r.n)]
	if r.fresh && r.of.segment != nil { // faster than to touch the pages one by one
		n, _ = r.of.segment.WriteAt(p, int64(tableSize+r.at))
	}
	return n + copy(r.bytes()[n:], p[n:])
}

// adjoin appends a room, as one with the last one if it is right behind it, up to a size of most.
func adjoin(rooms []room, next room, most int) []room {
	if k := len(rooms) - 1; k >= 0 {
		if last := &rooms[k]; last.of == next.of && last.fresh == next.fresh && last.at+last.n == next.at && last.n+next.n <= most {
			last.n += next.n
			return rooms
		}
	}
	return append(rooms, next)
}
