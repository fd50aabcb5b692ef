package replica

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/offheap"
)

// Flip changes a bit in a copy that this rank has of a range drawn at random, and returns the
// range's blocks; false: it has none with a byte in it.
func (s *Store) Flip(rng *rand.Rand) (Range, bool) {
	v, err := s.read()
	if err != nil {
		return Range{}, false
	}
	list := slices.DeleteFunc(slices.Sorted(maps.Keys(v.copies)), func(q int64) bool { return len(v.copies[q].data) == 0 })
	if len(list) == 0 {
		return Range{}, false
	}
	q := list[rng.IntN(len(list))]
	data := v.copies[q].data
	data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
	return v.layout.geo.blocks(q), true
}

// Peers are the ranks that share what the system has left with this one, itself included.
func (s *Store) Peers() int64 {
	s.mem.mu.Lock()
	defer s.mem.mu.Unlock()
	return s.mem.peers
}

// Intact counts the copies that this rank has, and those that are as they were submitted.
func (s *Store) Intact() (copies, good int) {
	v, err := s.read()
	if err != nil {
		return 0, 0
	}
	for q, h := range v.copies {
		if copies++; v.good(q) && h.data != nil {
			good++
		}
	}
	return copies, good
}

// Spoil changes the first bit of the copy that this rank has of the range with a block, if it has one.
func (s *Store) Spoil(block int64) {
	v, err := s.read()
	if err != nil {
		return
	}
	v.layout.geo.pieces(Range{block, block + 1}, func(p piece) {
		if h := v.copies[p.q]; h != nil {
			h.data[0] ^= 1
		}
	})
}

// SpoilShared changes the first bit of all memory of this rank that others can write to, and returns how much that is.
func (s *Store) SpoilShared() (segments int) {
	s.mem.mu.Lock()
	defer s.mem.mu.Unlock()
	for _, segment := range s.mem.segments {
		segment.Bytes[0] ^= 1
	}
	return len(s.mem.segments)
}

// AreSums reports whether a message has the sums of what a rank submits.
func AreSums(m comm.Message) bool { return m.Tag%tags == tagSums }

// Apart has ranks of one process write to each other's memory as those of several do, until the test ends.
func Apart(t testing.TB) {
	var ranks atomic.Int64
	was := process
	t.Cleanup(func() { process = was })
	process = func() int64 { return ranks.Add(1) }
}

// Unreachable has some of the attempts to open memory fail, or to write to it, until the test ends.
func Unreachable(t testing.TB, fails func() (open, write bool)) {
	was := openMemory
	t.Cleanup(func() { openMemory = was })
	openMemory = func(a offheap.Address) (*offheap.Window, error) {
		open, write := fails()
		switch {
		case open:
			return nil, offheap.ErrNotThere
		case write:
			return new(offheap.Window), nil
		}
		return was(a)
	}
}

// WithoutSegments has the system give no memory that others can open while none says so, until the test ends.
func WithoutSegments(t testing.TB, none func() bool) {
	was := newSegment
	t.Cleanup(func() { newSegment = was })
	newSegment = func(n int) (*offheap.Segment, error) {
		if none() {
			return nil, errors.ErrUnsupported
		}
		return was(n)
	}
}

// Opened calls a function whenever a rank has opened memory of another one, until the test ends.
func Opened(t testing.TB, then func()) {
	was := openMemory
	t.Cleanup(func() { openMemory = was })
	openMemory = func(a offheap.Address) (*offheap.Window, error) {
		w, err := was(a)
		then()
		return w, err
	}
}

// Consistent is an error if a store that is closed or has no communicator begins operations, or one that has does not.
func (s *Store) Consistent() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	begins := s.line.stopped() == nil
	if begins != (s.comm != nil) || begins && s.closed {
		return fmt.Errorf("closed: %v, a communicator: %v, begins operations: %v", s.closed, s.comm != nil, begins)
	}
	return nil
}

// Remote are the bytes of the copies that this rank has of what others have submitted.
func (s *Store) Remote() (n int64) {
	v, err := s.read()
	if err != nil {
		return 0
	}
	for q, h := range v.copies {
		if v.layout.places.Owner(v.layout.geo.submitter(q)) != v.seat {
			n += int64(len(h.data))
		}
	}
	return n
}
