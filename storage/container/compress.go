package container

import (
	"fmt"

	"github.com/pierrec/lz4/v4"
	"github.com/zeebo/xxh3"
)

// Compression says which chunks are compressed with LZ4. Chunks of less than
// 16 KiB never are, or with a smaller chunk size those that are not full.
type Compression uint8

const (
	// Auto compresses a chunk if samples of it say that it pays, and keeps the
	// result if it saves at least one byte of eight.
	Auto Compression = iota
	// Off never compresses.
	Off
	// Always compresses wherever it saves at least one byte.
	Always
)

var compressionNames = [...]string{Auto: "auto", Off: "off", Always: "always"}

// String is "auto", "off" or "always".
func (c Compression) String() string {
	if int(c) < len(compressionNames) {
		return compressionNames[c]
	}
	return fmt.Sprintf("Compression(%d)", uint8(c))
}

const (
	samples    = 4
	sampleSize = 4 << 10
)

// compressor decides about chunks and compresses them. It belongs to one
// goroutine. It makes the blocks of the reference implementation of LZ4, so
// that they do not change with the library's version.
type compressor struct {
	hasher xxh3.Hasher // of chunks in several pieces
	lz4    lz4.CompressorCCompat
	sample [samples * sampleSize]byte
	packed [samples * sampleSize]byte
}

// pays estimates from a few samples whether compression saves a quarter.
func (c *compressor) pays(m memory) bool {
	if m.n <= 2*len(c.sample) {
		return true // trying costs little more than guessing
	}
	step := (m.n - sampleSize) / (samples - 1)
	at := memoryCursor{m.spans, m.skip}
	for i := range samples {
		if i > 0 {
			at.next(step - sampleSize)
		}
		at.next(sampleSize).gather(c.sample[i*sampleSize:])
	}
	n, err := c.lz4.CompressBlock(c.sample[:], c.packed[:len(c.packed)-len(c.packed)/4])
	return err == nil && n > 0
}

// compress returns the LZ4 block of raw, in dst, or false if it does not save
// what the mode asks for. dst has room for all of raw.
func (c *compressor) compress(mode Compression, raw, dst []byte) ([]byte, bool) {
	limit := len(raw) - 1
	if mode == Auto {
		limit = len(raw) - len(raw)/8
	}
	n, err := c.lz4.CompressBlock(raw, dst[:limit])
	if err != nil || n == 0 || len(raw) > maxExpansion*n {
		return nil, false
	}
	return dst[:n], true
}
