package storagetest

import (
	"io"

	"github.com/craft-go/craft/storage"
)

// Truncating wraps a driver whose parts end early when they are read: size gets
// the true size of a part and returns the one that it seems to have. What it
// returns beyond the true size counts as that.
func Truncating(d storage.Driver, size func(id storage.ID, part storage.Part, size int64) int64) storage.Driver {
	return &intercepted{Driver: d, damage: func(id storage.ID, part storage.Part, r storage.PartReader) storage.PartReader {
		return &cutReader{r, max(0, min(size(id, part, r.Size()), r.Size()))}
	}}
}

// Flipping wraps a driver whose parts have wrong bits when they are read: bits
// gets the size of a part and returns the numbers of those bits, bit i being bit
// i%8 of byte i/8.
func Flipping(d storage.Driver, bits func(id storage.ID, part storage.Part, size int64) []int64) storage.Driver {
	return &intercepted{Driver: d, damage: func(id storage.ID, part storage.Part, r storage.PartReader) storage.PartReader {
		return &flippedReader{r, bits(id, part, r.Size())}
	}}
}

type cutReader struct {
	storage.PartReader

	size int64
}

func (r *cutReader) Size() int64 { return r.size }

func (r *cutReader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off+int64(len(p)) <= r.size {
		return r.PartReader.ReadAt(p, off)
	}
	if off >= r.size {
		return 0, io.EOF
	}
	n, err := r.PartReader.ReadAt(p[:r.size-off], off)
	if err == nil {
		err = io.EOF
	}
	return n, err
}

type flippedReader struct {
	storage.PartReader

	bits []int64
}

func (r *flippedReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.PartReader.ReadAt(p, off)
	for _, bit := range r.bits {
		if at := bit/8 - off; at >= 0 && at < int64(n) {
			p[at] ^= 1 << (bit % 8)
		}
	}
	return n, err
}
