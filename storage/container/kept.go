package container

import (
	"slices"
	"sync"
	"weak"
)

// keptBudget bounds the bytes of the decoded chunks that all section readers of
// the process keep together.
const keptBudget = 12 << 20

// kept is the chunk that a section reader decoded last for a read that did not
// cover all of it.
type kept struct {
	mu    sync.Mutex
	buf   []byte // nil: evicted, or never filled
	chunk int    // whose raw bytes buf holds; -1: none
	own   bool   // of a sequential reader: outside of the budget, never evicted
}

// keptChunks finds the kept chunk that was made longest ago, for its memory to
// be used again. It does not keep section readers alive.
var keptChunks struct {
	mu   sync.Mutex
	list []keptRef // oldest first
}

type keptRef struct {
	k    weak.Pointer[kept]
	size int
}

// room returns a buffer of n bytes of k, which is locked, taking it from others that are
// not in use if the budget demands it. If that is not enough, the buffer is for the
// caller alone, and k has none.
func (k *kept) room(n int) []byte {
	k.chunk = -1
	if cap(k.buf) >= n {
		k.buf = k.buf[:n]
		return k.buf
	}
	if k.own {
		k.buf = make([]byte, n)
		return k.buf
	}
	a := &keptChunks
	a.mu.Lock()
	defer a.mu.Unlock()
	k.buf = nil
	used := 0
	a.list = slices.DeleteFunc(a.list, func(ref keptRef) bool {
		o := ref.k.Value()
		if o == nil || o == k {
			return true
		}
		used += ref.size
		return false
	})
	full := func() bool { return used > 0 && used+n > keptBudget }
	a.list = slices.DeleteFunc(a.list, func(ref keptRef) bool {
		o := ref.k.Value()
		if !full() || o != nil && !o.mu.TryLock() {
			return false
		}
		if o != nil {
			if cap(o.buf) >= n && cap(o.buf) <= 2*n && k.buf == nil {
				k.buf = o.buf[:n]
			}
			o.buf, o.chunk = nil, -1
			o.mu.Unlock()
		}
		used -= ref.size
		return true
	})
	if full() {
		k.buf = nil
		return make([]byte, n)
	}
	if k.buf == nil {
		k.buf = make([]byte, n)
	}
	a.list = append(a.list, keptRef{weak.Make(k), cap(k.buf)})
	return k.buf
}
