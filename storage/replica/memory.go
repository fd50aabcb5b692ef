package replica

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/dustin/go-humanize"

	"github.com/craft-go/craft/internal/offheap"
)

// memory is what a store takes of the machine's, outside of the Go heap and within a limit. A
// buffer that is given back stays for the next version, because memory that was touched before is
// faster; the system may take its pages meanwhile.
type memory struct {
	limit int64 // 0: what is available
	peers int64 // processes that share what is available

	mu   sync.Mutex
	held int64
	peak int64
	idle [][]byte // smallest first
}

// fits reports whether a buffer is large enough, and not much too large.
func fits(buf []byte, n int64) bool { return int64(len(buf)) >= n && int64(len(buf)) <= n+n/4+1<<20 }

// take returns memory of n bytes, of any content, or an error that matches ErrMemory.
func (m *memory) take(n int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n == 0 {
		return nil, nil
	}
	if i := slices.IndexFunc(m.idle, func(b []byte) bool { return fits(b, n) }); i >= 0 {
		buf := m.idle[i]
		m.idle = slices.Delete(m.idle, i, i+1)
		return buf[:n], nil
	}
	if err := m.drop(); err != nil { // what is idle does not fit
		return nil, err
	}
	if err := m.room(n); err != nil {
		return nil, err
	}
	buf, err := offheap.Allocate(int(n))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMemory, humanize.IBytes(uint64(n)), err)
	}
	m.held += n
	m.peak = max(m.peak, m.held)
	return buf, nil
}

// room returns an error if there are no n bytes more.
func (m *memory) room(n int64) error {
	if m.limit > 0 {
		if m.held+n > m.limit {
			return fmt.Errorf("%w: %s more than the %s that the store has: Options.Limit allows %s", ErrMemory,
				humanize.IBytes(uint64(n)), humanize.IBytes(uint64(m.held)), humanize.IBytes(uint64(m.limit)))
		}
		return nil
	}
	if share := offheap.Available() / max(m.peers, 1); n > share {
		return fmt.Errorf("%w: %s are wanted, and this rank's share of what the system has available is %s: use fewer copies, smaller or fewer blocks, or set Options.Limit to insist",
			ErrMemory, humanize.IBytes(uint64(n)), humanize.IBytes(uint64(share)))
	}
	return nil
}

// give takes back what take has returned.
func (m *memory) give(buf []byte) {
	if cap(buf) == 0 {
		return
	}
	buf = buf[:cap(buf)]
	offheap.Idle(buf)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = append(m.idle, buf)
	slices.SortFunc(m.idle, func(a, b []byte) int { return len(a) - len(b) })
}

// drop gives what is idle back to the system.
func (m *memory) drop() (err error) {
	for _, buf := range m.idle {
		m.held -= int64(len(buf))
		err = errors.Join(err, offheap.Release(buf))
	}
	m.idle = nil
	return err
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
