package container

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// history writes versions of one checkpoint with references, and keeps them.
type history struct {
	t     testing.TB
	e     *Encoder
	d     *Delta
	h     Header
	stats Stats
	files map[uint64][]byte
}

// allPromises is the grade of a version that covers all others.
const allPromises = math.MaxUint64

func newHistory(t testing.TB, o Options) *history {
	h := someHeader()
	h.Version = 0
	return &history{t: t, e: newTestEncoder(t, o), d: NewDelta(), h: h, files: make(map[uint64][]byte)}
}

// write makes the next version.
func (y *history) write(grade uint64, sections ...Section) *Reader {
	y.h.Version++
	var b bytes.Buffer
	var err error
	y.stats, err = y.e.EncodeDelta(context.Background(), &b, y.h, sections, y.d, grade)
	require.NoError(y.t, err)
	require.EqualValues(y.t, b.Len(), y.stats.FileBytes)
	y.files[y.h.Version] = b.Bytes()
	return y.open(y.h.Version)
}

// keep is write for a version that is published.
func (y *history) keep(grade uint64, sections ...Section) *Reader {
	r := y.write(grade, sections...)
	y.d.Keep(y.h.Version, allPromises)
	return r
}

// open opens a version, and lazily those that it refers to.
func (y *history) open(version uint64) *Reader {
	r := openFile(y.t, y.files[version])
	r.ResolveBy(y.resolve)
	return r
}

func (y *history) resolve(version uint64) (*Reader, error) {
	data, ok := y.files[version]
	if !ok {
		return nil, fmt.Errorf("version %d is not there", version)
	}
	return Open(bytes.NewReader(data), int64(len(data)))
}

func (y *history) requireRead(r *Reader, want map[string][]byte) {
	require.NoError(y.t, r.Verify(context.Background()))
	require.NoError(y.t, r.VerifyReferences(context.Background()))
	require.Len(y.t, r.Sections(), len(want))
	for key, raw := range want {
		got, err := readAll(sectionOf(y.t, r, key))
		require.NoError(y.t, err)
		requireSame(y.t, raw, got, key)
	}
}

// requireNoChains checks that references are to files that have the bytes.
func (y *history) requireNoChains(r *Reader) {
	for i := range r.x.chunks {
		rec := &r.x.chunks[i]
		if rec.kind != kindReference {
			continue
		}
		base := openFile(y.t, y.files[r.x.refs[rec.ref].version])
		require.True(y.t, slices.ContainsFunc(base.x.chunks, func(b chunkRecord) bool {
			return b.offset == rec.offset && b.stored == rec.stored && b.kind == rec.there && b.crc == rec.crc && b.rawCRC == rec.rawCRC
		}), "chunk %d", i)
	}
}

func (y *history) header(version uint64) Header { return openFile(y.t, y.files[version]).Header() }
