package codec

import (
	"math/bits"
	"unsafe"
)

// addresses is a set of what pointers point to: a hash table with open
// addressing, as a Go map would take most of the time of writing a tree.
type addresses struct {
	slots []uintptr // 0: free; a power of two of them
	used  int
}

// add returns false if p is there already.
func (a *addresses) add(p unsafe.Pointer) bool { return a.put(uintptr(p)) }

func (a *addresses) put(p uintptr) bool {
	if a.used*2 >= len(a.slots) {
		a.resize(max(16, 2*len(a.slots)))
	}
	at := a.find(p)
	if a.slots[at] != 0 {
		return false
	}
	a.slots[at] = p
	a.used++
	return true
}

func (a *addresses) has(p unsafe.Pointer) bool {
	return a.used > 0 && a.slots[a.find(uintptr(p))] != 0
}

func (a *addresses) find(p uintptr) uint64 {
	mask := uint64(len(a.slots) - 1)
	at := uint64(p) * 0x9e3779b97f4a7c15 >> 20 & mask
	for a.slots[at] != 0 && a.slots[at] != p {
		at = (at + 1) & mask
	}
	return at
}

// expect makes room for n more.
func (a *addresses) expect(n int) {
	for (a.used+n)*2 >= len(a.slots) {
		a.resize(1 << bits.Len(uint(a.used+n)*2))
	}
}

func (a *addresses) resize(slots int) {
	old := a.slots
	a.slots = make([]uintptr, slots)
	for _, p := range old {
		if p != 0 {
			a.slots[a.find(p)] = p
		}
	}
}
