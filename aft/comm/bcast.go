package comm

import (
	"context"
	"encoding/binary"
)

// Bcast copies root's data into data on all ranks. The length is the same on
// all of them.
func Bcast[T Datum](ctx context.Context, c *Comm, root Rank, data []T) error {
	k := c.begin(ctx, "Bcast", tagBcast)
	if err := c.checkRank(root); err != nil {
		return k.end(err)
	}
	return k.end(bcast(&k, root, bytesOf(data)))
}

// BcastBytes returns root's data on all ranks, which need not know its length;
// on the others data is not looked at. On root, the result is data itself.
func BcastBytes(ctx context.Context, c *Comm, root Rank, data []byte) ([]byte, error) {
	k := c.begin(ctx, "BcastBytes", tagBcastBytes)
	if err := c.checkRank(root); err != nil {
		return nil, k.end(err)
	}
	data, err := bcastBytes(&k, root, data)
	return data, k.end(err)
}

func bcastBytes(k *call, root Rank, data []byte) ([]byte, error) {
	// Short data travels with its length.
	var first [1 << 10]byte
	short := first[8:]
	if k.c.Rank() == root {
		binary.LittleEndian.PutUint64(first[:], uint64(len(data)))
		copy(short, data)
	}
	if err := bcast(k, root, first[:]); err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint64(first[:]))
	if k.c.Rank() != root {
		data = make([]byte, n)
		copy(data, short)
	}
	if n <= len(short) {
		return data, nil
	}
	return data, bcast(k, root, data[len(short):])
}
