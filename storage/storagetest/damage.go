package storagetest

import (
	"context"
	"io"

	"github.com/craft-go/craft/storage"
)

// Truncating wraps a driver whose parts end early when they are read: size gets
// the true size of a part and returns the one that it seems to have. What it
// returns beyond the true size counts as that.
func Truncating(d storage.Driver, size func(id storage.ID, part storage.Part, size int64) int64) storage.Driver {
	return damaging(d, func(id storage.ID, part storage.Part, r storage.PartReader) storage.PartReader {
		return &cutReader{r, max(0, min(size(id, part, r.Size()), r.Size()))}
	})
}

// Flipping wraps a driver whose parts have wrong bits when they are read: bits
// gets the size of a part and returns the numbers of those bits, bit i being bit
// i%8 of byte i/8.
func Flipping(d storage.Driver, bits func(id storage.ID, part storage.Part, size int64) []int64) storage.Driver {
	return damaging(d, func(id storage.ID, part storage.Part, r storage.PartReader) storage.PartReader {
		return &flippedReader{r, bits(id, part, r.Size())}
	})
}

// damagedDriver is a driver whose readers are not what they were.
type damagedDriver struct {
	intercepted

	wrap func(storage.ID, storage.Part, storage.PartReader) storage.PartReader
}

func damaging(d storage.Driver, wrap func(storage.ID, storage.Part, storage.PartReader) storage.PartReader) storage.Driver {
	out := &damagedDriver{intercepted: intercepted{Driver: d}, wrap: wrap}
	out.before = func(context.Context, Op) error { return nil }
	return out
}

// Open implements storage.Driver.
func (d *damagedDriver) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	r, err := d.Driver.Open(ctx, id, part)
	if err != nil {
		return nil, err
	}
	return d.wrap(id, part, r), nil
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
