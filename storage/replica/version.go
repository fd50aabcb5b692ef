package replica

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/offheap"
)

// version is what one rank has of blocks that were submitted together.
type version struct {
	number   uint64
	layout   *layout
	original []comm.OriginalRank // of each seat
	// incarnations are the stores of those who are in the seats: one that is started anew has another.
	incarnations []uint64
	seat         Seat        // of this process; absent: it has none, and can load only
	ranks        []comm.Rank // that each seat is now; gone: none
	whole        bool        // this rank has all that it is to have

	// use is held by who reads copies beside the operations of the store, and by these where they
	// change which there are or which are damaged.
	use     sync.RWMutex
	copies  map[int64]*held  // of this rank, by range
	buffers [][]byte         // that they lie in
	fresh   *offheap.Segment // that the copies of a submit lie in, if it was not touched before
}

// gone is the rank of a seat without a process.
const gone comm.Rank = -1

// held is a copy of a range in the memory of this rank.
type held struct {
	data  []byte
	at    location // of data, for ranks that open this one's memory
	sum   uint32
	state atomic.Int32
}

// The states of a copy.
const (
	intact int32 = iota // as far as is known
	damaged
	awaited // what it is to be has not come, or not all of it
)

// newHeld is a copy that is awaited.
func newHeld(data []byte) *held {
	h := &held{data: data}
	h.state.Store(awaited)
	return h
}

// checksum is more than twice as fast as a CRC, even with an instruction for that.
func checksum(b []byte) uint32 { return uint32(xxh3.Hash(b)) }

// good reports whether this rank's copy of a range is what its submitter gave.
func (v *version) good(q int64) bool {
	h := v.copies[q]
	return h.state.Load() == intact && checksum(h.data) == h.sum
}

// spoil notes that a copy is damaged, and reports whether that is so and was not known.
func (v *version) spoil(q int64) bool {
	v.use.Lock()
	defer v.use.Unlock()
	h := v.copies[q]
	return h != nil && h.data != nil && checksum(h.data) != h.sum && h.state.CompareAndSwap(intact, damaged)
}

// wanted are the ranges that a seat is to have a copy of, ascending.
func (l *layout) wanted(seat Seat) (ranges []int64) {
	for s := range l.places.Seats() {
		for k := range l.places.copies {
			if l.places.Copy(Slot(s), k) == seat {
				l.InSlot(Slot(s), func(q int64) { ranges = append(ranges, q) })
			}
		}
	}
	slices.Sort(ranges)
	return ranges
}

// put makes a copy of what this rank submits.
func (v *version) put(h *held, stored []byte, sum uint32) error {
	if v.fresh == nil {
		copy(h.data, stored)
	} else if _, err := v.fresh.WriteAt(stored, h.at.Begin); err != nil {
		return fmt.Errorf("%w: %w", ErrMemory, err)
	}
	h.sum = sum
	h.state.Store(intact)
	return nil
}

// free gives the memory of a version back. Other ranks may still write to one that is not whole.
func (v *version) free(m *memory) {
	v.use.Lock()
	defer v.use.Unlock()
	for _, b := range v.buffers {
		if v.whole {
			m.give(b)
		} else {
			m.discard(b)
		}
	}
	v.copies, v.buffers, v.fresh = nil, nil, nil
}

// allot divides memory among ranges that this rank is to have, which are awaited. It lies in their order.
func (v *version) allot(m *memory, shared bool, ranges []int64, length func(q int64) int) error {
	var n int64
	for _, q := range ranges {
		n += int64(length(q))
	}
	buf, fresh, err := m.obtain(n, shared)
	if err != nil {
		return err
	}
	v.use.Lock()
	defer v.use.Unlock()
	v.buffers, v.fresh = append(v.buffers, buf), fresh
	at := location{Address: m.address(buf)}
	for _, q := range ranges {
		k := length(q)
		v.copies[q] = newHeld(buf[:k:k])
		v.copies[q].at = at
		buf, at.Begin = buf[k:], at.Begin+int64(k)
	}
	return nil
}

// rank is that of a seat now.
func (v *version) rank(s Seat) comm.Rank { return v.ranks[s] }
