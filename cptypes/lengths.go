package cptypes

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// Values that consist of parts of different length ([]string, ragged rows) are
// stored as
//
//	parts    uint64
//	length   uint64 × parts, in elements
//	elements of all parts
//
// in little-endian order.

// recordBytes is how much of lengths, and of other records, is moved at a time.
const recordBytes = 64 << 10

func lengthsBytes(parts int) int64 { return 8 * (1 + int64(parts)) }

func writeLengths(w io.Writer, parts int, length func(i int) int) error {
	return writeRecords(w, parts, 8, func(b []byte, i int) {
		binary.LittleEndian.PutUint64(b, uint64(length(i)))
	})
}

// readLengths reads what writeLengths wrote, and checks that each length can be
// addressed.
func readLengths(r io.Reader, l layout) ([]int, error) {
	parts, err := readCount(r)
	if err != nil {
		return nil, err
	}
	lengths := make([]int, 0, min(parts, element.Trusted/8))
	err = readRecords(r, parts, 8, func(b []byte) error {
		x := int64(binary.LittleEndian.Uint64(b))
		if x < 0 || !fits(x, l) {
			return fmt.Errorf("cptypes: %w: part %d of %d has length %d", ErrCorrupt, len(lengths), parts, uint64(x))
		}
		lengths = append(lengths, int(x))
		return nil
	})
	return lengths, err
}

// writeRecords writes their number as a uint64, and then n records of some bytes each.
func writeRecords(w io.Writer, n, size int, put func(b []byte, i int)) error {
	buf := make([]byte, 8, min(8+int64(n)*int64(size), recordBytes))
	binary.LittleEndian.PutUint64(buf, uint64(n))
	for i := range n {
		if len(buf)+size > recordBytes {
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
		buf = buf[:len(buf)+size]
		put(buf[len(buf)-size:], i)
	}
	_, err := w.Write(buf)
	return err
}

func readCount(r io.Reader) (uint64, error) {
	head := make([]byte, 8)
	if k, err := io.ReadFull(r, head); err != nil {
		return 0, element.Short(err, int64(k), 8)
	}
	n := binary.LittleEndian.Uint64(head)
	if n >= 1<<56 {
		return 0, fmt.Errorf("cptypes: %w: %d parts", ErrCorrupt, n)
	}
	return n, nil
}

// readRecords passes each of n records to take, which looks at its beginning only.
func readRecords(r io.Reader, n uint64, size int, take func(b []byte) error) error {
	bytes := int64(n) * int64(size)
	buf := make([]byte, min(bytes, recordBytes))
	for done := int64(0); done < bytes; {
		b := buf[:min(bytes-done, int64(len(buf)))]
		k, err := io.ReadFull(r, b)
		if done += int64(k); err != nil {
			return element.Short(err, 8+done, 8+bytes)
		}
		for ; len(b) > 0; b = b[size:] {
			if err := take(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// counted counts what gets through to w.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
