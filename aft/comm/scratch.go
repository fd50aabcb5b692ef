package comm

import (
	"sync"
	"unsafe"
)

// scratch is working memory of a collective. It is kept for later ones, because
// the first touch of fresh memory costs far more than its use.
type scratch struct {
	words []uint64 // words, so that every Datum is aligned
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// acquire returns n elements of unknown content, which are good until free.
func acquire[T Datum](n int) (*scratch, []T) {
	s := scratches.Get().(*scratch)
	if words := (n*sizeOf[T]() + 7) / 8; words > len(s.words) {
		s.words = make([]uint64, words)
	}
	return s, unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(s.words))), n)
}

// free must not be called while a request still uses the memory: not deferred,
// where a panic of an Op could come in between.
func (s *scratch) free() { scratches.Put(s) }
