package container

import "io"

// Section is one value to be stored. Exactly one of Spans and Source is set.
type Section struct {
	Key  string
	Desc Desc
	// Spans is the value's memory as raw little-endian bytes in stored order.
	// It must not change until Encode returns. nil with a nil Source: no bytes.
	Spans [][]byte
	// Source writes a value whose bytes are not in memory as such. It is called
	// once, from one goroutine.
	Source io.WriterTo
	// Stores, if not nil, says which chunks go into this file; the others are
	// recorded with their checksum and found in another rank's file (large
	// replicated values, DESIGN: chunk c in rank c mod p).
	Stores func(chunk int) bool
}
