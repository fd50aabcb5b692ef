package pipe

import "sync/atomic"

// board is the first page of the shared memory. The indices count all bytes that
// ever went through; each is written by one side, and lies on cache lines of its
// own (128 bytes, because neighbours are fetched in pairs).
type board struct {
	_              [128]byte
	tail           atomic.Uint64 // bytes published, by the producer
	_              [120]byte
	head           atomic.Uint64 // bytes taken, by the consumer
	_              [120]byte
	consumerSleeps atomic.Uint32 // 1: the producer is to ring when it has published
	_              [124]byte
	producerSleeps atomic.Uint32 // 1: the consumer is to ring when half of the ring is free
}

// ring is one side's view of the shared memory.
type ring struct {
	board *board
	// data is the ring twice, one behind the other: the same memory mapped at
	// two places. So every part of it is contiguous.
	data []byte
	size uint64
	own  uint64 // this side's index
	seen uint64 // the other side's, as last read
}

// step is how many bytes are copied before they are published or given back, so
// that both sides copy at the same time.
const step = 32 << 10

// room is how many bytes the producer can write; the other side's index is read
// only if there were less than want. It is false when that index is impossible.
func (r *ring) room(want int) (int, bool) {
	if free := r.size - (r.own - r.seen); free >= uint64(want) {
		return int(free), true
	}
	head := r.board.head.Load()
	if head < r.seen || head > r.own {
		return 0, false
	}
	r.seen = head
	return int(r.size - (r.own - head)), true
}

// put copies bytes that there is room for, and does not publish them.
func (r *ring) put(p []byte) {
	copy(r.data[r.own&(r.size-1):], p)
	r.own += uint64(len(p))
}

// publish shows the consumer what was put. Like take and doze it exchanges what it
// could store: whoever says something here looks next at what the other side says,
// and under the race detector a store to memory that is not Go's can be overtaken
// by the load behind it.
func (r *ring) publish() { r.board.tail.Swap(r.own) }

// doze says that this side sleeps.
func doze(sleeps *atomic.Uint32) { sleeps.Swap(1) }

// stored is the published bytes that have not been taken; the other side's index
// is read only if there were less than want.
func (r *ring) stored(want int) ([]byte, bool) {
	if r.seen-r.own < uint64(want) {
		tail := r.board.tail.Load()
		if tail < r.seen || tail-r.own > r.size {
			return nil, false
		}
		r.seen = tail
	}
	at := r.own & (r.size - 1)
	return r.data[at : at+(r.seen-r.own)], true
}

// take gives n bytes back to the producer.
func (r *ring) take(n int) {
	r.own += uint64(n)
	r.board.head.Swap(r.own)
}

// rouse tells the producer that its bell must be rung, and takes its word back.
func (r *ring) rouse() bool {
	b := r.board
	if b.producerSleeps.Load() == 0 || r.size-(b.tail.Load()-r.own) < r.size/2 {
		return false
	}
	return b.producerSleeps.Swap(0) != 0
}
