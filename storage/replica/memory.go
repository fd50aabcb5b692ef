package replica

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/dustin/go-humanize"

	"github.com/craft-go/craft/internal/offheap"
)

// memory is what a store takes of the machine's, outside of the Go heap and within a limit. A
// buffer that is given back stays for the next version, because memory that was touched before is
// faster; the system may take its pages meanwhile, but for shared buffers, those that ranks of this host
// can write to. Each counts once, at the rank that has taken it.
type memory struct {
	limit int64 // 0: what is available
	peers int64 // processes that share what is available

	mu   sync.Mutex
	held int64
	peak int64
	idle [][]byte // smallest first
	// segments are what shared buffers lie in, by their first byte.
	segments map[*byte]*offheap.Segment
}

// fits reports whether a buffer is large enough, and not much too large.
func fits(buf []byte, n int64) bool { return int64(len(buf)) >= n && int64(len(buf)) <= n+n/4+1<<20 }

// take returns memory of n bytes, of any content, or an error that matches ErrMemory.
func (m *memory) take(n int64) ([]byte, error) {
	buf, _, err := m.obtain(n, false)
	return buf, err
}

// obtain is take, of memory that is shared if it is to be and the system has such. fresh is the segment of memory that
// is shared and was not touched before.
func (m *memory) obtain(n int64, shared bool) (buf []byte, fresh *offheap.Segment, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n == 0 {
		return nil, nil, nil
	}
	if i := slices.IndexFunc(m.idle, func(b []byte) bool { return fits(b, n) && (m.segment(b) != nil) == shared }); i >= 0 {
		buf := m.idle[i]
		m.idle = slices.Delete(m.idle, i, i+1)
		return buf[:n], nil, nil
	}
	if err := m.drop(); err != nil { // what is idle does not fit
		return nil, nil, err
	}
	if err := m.room(n); err != nil {
		return nil, nil, err
	}
	if buf, err = m.allocate(int(n), shared); err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", ErrMemory, humanize.IBytes(uint64(n)), err)
	}
	m.held += n
	m.peak = max(m.peak, m.held)
	return buf, m.segment(buf), nil
}

func (m *memory) allocate(n int, shared bool) ([]byte, error) {
	if shared {
		if segment, err := newSegment(n); err == nil {
			if m.segments == nil {
				m.segments = make(map[*byte]*offheap.Segment)
			}
			m.segments[unsafe.SliceData(segment.Bytes)] = segment
			return segment.Bytes, nil
		}
	}
	return offheap.Allocate(n)
}

// newSegment is replaced by tests.
var newSegment = offheap.NewSegment

// segment is what a buffer lies in; nil: it is not shared.
func (m *memory) segment(buf []byte) *offheap.Segment { return m.segments[unsafe.SliceData(buf)] }

// address is where others of this host find a buffer.
func (m *memory) address(buf []byte) (a offheap.Address) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.segment(buf); s != nil {
		a = s.Address()
	}
	return a
}

// room returns an error if there are no n bytes more.
func (m *memory) room(n int64) error {
	switch left := m.left(); {
	case n <= left:
		return nil
	case m.limit > 0:
		return fmt.Errorf("%w: %s more than the %s that the store has: Options.Limit allows %s", ErrMemory,
			humanize.IBytes(uint64(n)), humanize.IBytes(uint64(m.held)), humanize.IBytes(uint64(m.limit)))
	default:
		return fmt.Errorf("%w: %s are wanted, and this rank's share of what the system has available is %s: use fewer copies, smaller or fewer blocks, or set Options.Limit to insist",
			ErrMemory, humanize.IBytes(uint64(n)), humanize.IBytes(uint64(left)))
	}
}

// unasked is how much a program may load without a look at what the system has, which takes as long as a small load.
const unasked = 64 << 20

// lends returns an error if the system has not the memory for blocks of a size that the program loads, beyond room that it has
// given. It is the program's, so no limit counts it, and one rank may load what others do not.
func lends(blocks int64, size, room int) error {
	if size == 0 {
		return nil
	}
	if blocks -= int64(room / size); blocks <= int64(unasked/size) {
		return nil
	}
	if left := offheap.Available(); blocks > left/int64(size) {
		return fmt.Errorf("%w: %d blocks of %s are to be loaded, and the system has %s available: load fewer at a time",
			ErrMemory, blocks, humanize.IBytes(uint64(size)), humanize.IBytes(uint64(left)))
	}
	return nil
}

// free is how much a version can take; if what is idle suffices for what is needed, that. To look at the system takes as long as
// to send some messages.
func (m *memory) free(need int64) (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, buf := range m.idle {
		n += int64(len(buf))
	}
	if n < need {
		n += min(max(m.left(), 0), math.MaxInt64-n)
	}
	return n
}

// left is how much can be taken beside what is held. The lock is held.
func (m *memory) left() int64 {
	if m.limit > 0 {
		return m.limit - m.held
	}
	return offheap.Available() / max(m.peers, 1)
}

// give takes back what take has returned.
func (m *memory) give(buf []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(buf)
}

// discard is give for a buffer that others may write to: the next version must not be in it.
func (m *memory) discard(buf []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.segment(buf) == nil {
		m.keep(buf)
		return
	}
	_ = m.release(buf[:cap(buf)]) // it was allocated
}

func (m *memory) keep(buf []byte) {
	if cap(buf) == 0 {
		return
	}
	buf = buf[:cap(buf)]
	if m.segment(buf) == nil {
		offheap.Idle(buf)
	}
	m.idle = append(m.idle, buf)
	slices.SortFunc(m.idle, func(a, b []byte) int { return len(a) - len(b) })
}

// drop gives what is idle back to the system.
func (m *memory) drop() (err error) {
	for _, buf := range m.idle {
		err = errors.Join(err, m.release(buf))
	}
	m.idle = nil
	return err
}

func (m *memory) release(buf []byte) error {
	m.held -= int64(len(buf))
	s := m.segment(buf)
	if s == nil {
		return offheap.Release(buf)
	}
	delete(m.segments, unsafe.SliceData(buf))
	return s.Close()
}

// trim is drop for others.
func (m *memory) trim() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.drop()
}

// use is how many bytes are held, of these idle, and the most that were held at a time.
func (m *memory) use() (held, idle, peak int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, buf := range m.idle {
		idle += int64(len(buf))
	}
	return m.held, idle, m.peak
}
