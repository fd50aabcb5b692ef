package embedded

import (
	"math/bits"
	"sync"
)

// eagerMin is the capacity of the smallest buffer of an eager message.
const eagerMin = 64

// eagers are messages with buffers of eagerMin<<i bytes, for reuse.
var eagers [11]sync.Pool

func eagerClass(n int) int {
	return max(0, bits.Len(uint(max(n, 1)-1))-bits.Len(uint(eagerMin-1)))
}

// newEager is a message with a copy of data, at most eagerLimit bytes.
func newEager(source int, tag int, data pieces) *message {
	class := eagerClass(data.length())
	m, ok := eagers[class].Get().(*message)
	if !ok {
		m = &message{data: pieces{first: make([]byte, eagerMin<<class)}}
	}
	m.source, m.tag = source, tag
	m.data.first = data.appendTo(m.data.first[:0])
	return m
}

// recycle gives an eager message back after it has been delivered.
func (m *message) recycle() {
	m.from = nil
	eagers[eagerClass(cap(m.data.first))].Put(m)
}
