package comm

import (
	"context"
	"encoding/binary"
)

// Bcast copies root's data into data on all ranks. The length is the same on
// all of them.
func Bcast[T Datum](ctx context.Context, c Comm, root Rank, data []T) error {
	if err := checkRank(c, root); err != nil {
		return wrap("Bcast", err)
	}
	return bcast(ctx, c, tagBcast, "Bcast", root, bytesOf(data))
}

// BcastBytes returns root's data on all ranks, which need not know its length;
// on the others data is not looked at. On root, the result is data itself.
func BcastBytes(ctx context.Context, c Comm, root Rank, data []byte) ([]byte, error) {
	const op = "BcastBytes"
	if err := checkRank(c, root); err != nil {
		return nil, wrap(op, err)
	}
	// Short data travels with its length.
	var first [1 << 10]byte
	short := first[8:]
	if c.Rank() == root {
		binary.LittleEndian.PutUint64(first[:], uint64(len(data)))
		copy(short, data)
	}
	if err := bcast(ctx, c, tagBcastBytes, op, root, first[:]); err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint64(first[:]))
	if c.Rank() != root {
		data = make([]byte, n)
		copy(data, short)
	}
	if n <= len(short) {
		return data, nil
	}
	return data, bcast(ctx, c, tagBcastBytes, op, root, data[len(short):])
}
