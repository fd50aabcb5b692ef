package container

import (
	"context"
	"io"
)

// Section is one value to be stored. One of Spans, Source and Feed is set.
type Section struct {
	Key  string
	Desc Desc
	// Spans is the value's memory as raw little-endian bytes in stored order.
	// It must not change until Encode returns, unless Volatile says that it may. nil
	// with a nil Source: no bytes.
	Spans [][]byte
	// Volatile: nobody promises that Spans do not change. Each chunk is then copied
	// to a buffer first, so that its checksums are those of the bytes that are stored.
	Volatile bool
	// Source writes a value whose bytes are not in memory as such. It is called
	// once, from one goroutine.
	Source io.WriterTo
	// Feed hands over the value's bytes while they are still being captured.
	// Sections with the same Feed are asked for in their order.
	Feed Feeder
	// Finite: Encode fails with ErrNotFinite if an element is infinite or not a number.
	// It looks at the bytes that it checksums. Elements are floating-point numbers.
	Finite bool
	// Stores, if not nil, says which chunks go into this file; the others are
	// recorded with their checksum and found in another rank's file (of a large
	// replicated value, chunk c is in that of rank c mod p, for p ranks).
	Stores func(chunk int) bool
}

// Feeder hands over the bytes of sections piece by piece. Its methods are called
// from two goroutines.
type Feeder interface {
	// Next waits for the next piece of the current section and for its last
	// one says so; then the next section is the current one. All pieces have
	// the size of a chunk but the last, which may be shorter or empty.
	Next(ctx context.Context) (piece []byte, token int64, last bool, err error)
	// Release says that a piece's bytes are no longer needed. After an error of
	// Encode pieces may remain unreleased.
	Release(token int64)
}
