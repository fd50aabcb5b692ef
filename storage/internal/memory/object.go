package memory

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/craft-go/craft/storage"
)

// object is a run of bytes, which does not change once it is published.
type object struct {
	pieces []piece // one behind the other
	size   int64
	spare  bool // it gives way; the lock of the Objects that it is published in guards it
}

// piece is a part of an extent.
type piece struct {
	of      *extent
	from, n int   // in the extent
	at      int64 // in the object
}

func (p piece) room() room { return room{p.of.of, p.of.index*extentSize + p.from, p.n, p.of.fresh} }

func (p piece) bytes() []byte { return p.room().bytes() }

// cut returns the pieces of a range, which is in the object.
func (o *object) cut(off int64, n int) (pieces []piece) {
	i, found := slices.BinarySearchFunc(o.pieces, off, func(p piece, off int64) int {
		switch {
		case p.at+int64(p.n) <= off:
			return -1
		case p.at > off:
			return 1
		}
		return 0
	})
	for found && n > 0 {
		p := o.pieces[i]
		skip := int(off - p.at)
		k := min(n, p.n-skip)
		pieces = append(pieces, piece{of: p.of, from: p.from + skip, n: k, at: off})
		off, n, i = off+int64(k), n-k, i+1
	}
	return pieces
}

// extents are how many bytes of the object are in each.
func (o *object) extents() map[*extent]int {
	in := make(map[*extent]int)
	for _, p := range o.pieces {
		in[p.of] += p.n
	}
	return in
}

// reader reads an object, which stays as long as it is open.
type reader struct {
	*object

	of    *Objects
	key   storage.ObjectKey
	close sync.Once
}

func (r *reader) Size() int64 { return r.size }

func (r *reader) ReadAt(p []byte, off int64) (n int, err error) {
	if err := r.of.ask("read", r.key); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, fmt.Errorf("read at %d: before the beginning", off)
	}
	if rest := max(0, r.size-off); int64(len(p)) > rest {
		p, err = p[:rest], io.EOF
	}
	for _, piece := range r.cut(off, len(p)) {
		n += copy(p[n:], piece.bytes())
	}
	return n, err
}

func (r *reader) Close() error {
	r.close.Do(func() { r.of.store.extents.giveBack(r.pieces) })
	return nil
}

var _ storage.PartReader = (*reader)(nil)
