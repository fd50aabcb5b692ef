package container

import (
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
}

// keptChunks finds the kept chunk that was made longest ago, for its memory to
// be used again. It does not keep section readers alive.
type keptChunks struct {
	mu   sync.Mutex
	list []keptRef // oldest first
}

type keptRef struct {
	k    weak.Pointer[kept]
	size int
}

var allKept keptChunks

// room gives k, which is locked, a buffer of n bytes, taking it from others
// that are not in use if the budget demands it; false if it cannot.
func (a *keptChunks) room(k *kept, n int) bool {
	k.chunk = -1
	if cap(k.buf) >= n {
		k.buf = k.buf[:n]
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	k.buf = nil
	used := 0
	live := a.list[:0]
	for _, ref := range a.list {
		if o := ref.k.Value(); o != nil && o != k {
			live = append(live, ref)
			used += ref.size
		}
	}
	clear(a.list[len(live):])
	a.list = live
	for i := 0; i < len(a.list) && used > 0 && used+n > keptBudget; {
		ref := a.list[i]
		o := ref.k.Value()
		if o != nil {
			if !o.mu.TryLock() {
				i++
				continue
			}
			if cap(o.buf) >= n && cap(o.buf) <= 2*n && k.buf == nil {
				k.buf = o.buf[:n]
			}
			o.buf, o.chunk = nil, -1
			o.mu.Unlock()
		}
		used -= ref.size
		a.list = append(a.list[:i], a.list[i+1:]...)
	}
	if used > 0 && used+n > keptBudget {
		k.buf = nil
		return false
	}
	if k.buf == nil {
		k.buf = make([]byte, n)
	}
	a.list = append(a.list, keptRef{weak.Make(k), cap(k.buf)})
	return true
}
