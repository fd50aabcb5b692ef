package cptypes

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Values that consist of parts of different length ([]string, ragged rows) are
// stored as
//
//	parts    uint64
//	length   uint64 × parts, in elements
//	elements of all parts
//
// in little-endian order.

// trusted is how many bytes are allocated on the word of a stored length;
// beyond it, memory grows with the bytes that are really there.
const trusted = 1 << 20

func lengthsBytes(parts int) int64 { return 8 * (1 + int64(parts)) }

func writeLengths(w io.Writer, parts int, length func(i int) int) (int64, error) {
	buf := make([]byte, 0, min(lengthsBytes(parts), convertBytes))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(parts))
	var total int64
	for i := range parts {
		if len(buf)+8 > convertBytes {
			n, err := w.Write(buf)
			total += int64(n)
			if err != nil {
				return total, err
			}
			buf = buf[:0]
		}
		buf = binary.LittleEndian.AppendUint64(buf, uint64(length(i)))
	}
	n, err := w.Write(buf)
	return total + int64(n), err
}

// readLengths reads what writeLengths wrote, and checks that each length can be
// addressed.
func readLengths(r io.Reader, l layout) (lengths []int, total int64, err error) {
	head := make([]byte, 8)
	n, err := io.ReadFull(r, head)
	if err != nil {
		return nil, int64(n), short(err, int64(n), 8)
	}
	parts := binary.LittleEndian.Uint64(head)
	if parts >= 1<<56 {
		return nil, 8, fmt.Errorf("cptypes: %w: %d parts", ErrCorrupt, parts)
	}
	total = 8
	buf := make([]byte, min(parts*8, convertBytes))
	lengths = make([]int, 0, min(parts, trusted/8))
	for left := parts; left > 0; {
		b := buf[:min(left*8, uint64(len(buf)))]
		n, err := io.ReadFull(r, b)
		total += int64(n)
		if err != nil {
			return nil, total, short(err, total, 8*(1+int64(parts)))
		}
		for ; len(b) > 0; b = b[8:] {
			x := int64(binary.LittleEndian.Uint64(b))
			if x < 0 || !fits(x, l) {
				return nil, total, fmt.Errorf("cptypes: %w: part %d of %d has length %d",
					ErrCorrupt, len(lengths), parts, uint64(x))
			}
			lengths = append(lengths, int(x))
			left--
		}
	}
	return lengths, total, nil
}
