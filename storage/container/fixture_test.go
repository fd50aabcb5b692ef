package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func someHeader() Header {
	return Header{
		Name:      "lanczos",
		Lineage:   LineageID{1, 2, 3},
		Attempt:   AttemptID{4, 5, 6},
		Version:   7,
		Iteration: 140,
		Rank:      1,
		Size:      4,
		Created:   time.Unix(1700000000, 123456789).UTC(),
		Ancestors: []Ancestor{
			{Name: "outer", Attempt: AttemptID{7}, Version: 3, Calls: 0},
			{Name: "outermost", Version: 0, Calls: 12},
		},
		Fingerprint: []byte(`{"nx":128,"seed":1}`),
	}
}

// contents is what the bytes of a random value look like.
type contents int

const (
	noise   contents = iota // cannot be compressed
	zeroes                  // can be, as far as it goes
	smooth                  // neighbouring float64 numbers: partly
	patches                 // stretches of noise and of zeros
)

func (c contents) bytes(rng *rand.Rand, n int) []byte {
	p := make([]byte, n+8)
	switch c {
	case noise:
		for i := 0; i < n; i += 8 {
			le.PutUint64(p[i:], rng.Uint64())
		}
	case smooth:
		for i := 0; i < n; i += 8 {
			le.PutUint64(p[i:], math.Float64bits(float64(i/800)))
		}
	case patches:
		for i := 0; i < n; i += 8 {
			if i>>14&1 == 0 {
				le.PutUint64(p[i:], rng.Uint64())
			}
		}
	}
	return p[:n:n]
}

// cutSpans cuts p at random into spans of at most longest bytes, some of them
// empty.
func cutSpans(rng *rand.Rand, p []byte, longest int) [][]byte {
	var spans [][]byte
	for len(p) > 0 {
		n := min(rng.IntN(longest+1), len(p))
		spans, p = append(spans, p[:n:n]), p[n:]
	}
	return spans
}

// pieceSource writes raw in pieces of random length.
type pieceSource struct {
	raw  []byte
	seed uint64
}

func (s pieceSource) WriteTo(w io.Writer) (int64, error) {
	rng := rand.New(rand.NewPCG(s.seed, 0))
	longest := 1 + rng.IntN(1+len(s.raw))
	for _, p := range cutSpans(rng, s.raw, longest) {
		if _, err := w.Write(p); err != nil {
			return 0, err
		}
	}
	return int64(len(s.raw)), nil
}

// failingSource returns its error after some bytes.
type failingSource struct {
	raw []byte
	err error
}

func (s failingSource) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(s.raw)
	if err == nil {
		err = s.err
	}
	return int64(n), err
}

// spanSection is a section of bytes in memory.
func spanSection(key string, spans ...[]byte) Section {
	return Section{Key: key, Desc: Desc{Elem: Uint8, Shape: []int64{totalLen(spans)}, Type: "[]uint8"}, Spans: spans}
}

func newTestEncoder(t testing.TB, o Options) *Encoder {
	e, err := NewEncoder(o)
	require.NoError(t, err)
	return e
}

// encodeFile returns the bytes of a file.
func encodeFile(t testing.TB, o Options, sections ...Section) []byte {
	return encodeWith(t, newTestEncoder(t, o), sections...)
}

func encodeWith(t testing.TB, e *Encoder, sections ...Section) []byte {
	var b bytes.Buffer
	stats, err := e.Encode(context.Background(), &b, someHeader(), sections)
	require.NoError(t, err)
	require.EqualValues(t, b.Len(), stats.FileBytes)
	return b.Bytes()
}

// encodeHeader is encodeFile with another header.
func encodeHeader(t testing.TB, h Header, sections ...Section) []byte {
	var b bytes.Buffer
	_, err := newTestEncoder(t, Options{}).Encode(context.Background(), &b, h, sections)
	require.NoError(t, err)
	return b.Bytes()
}

func openFile(t testing.TB, data []byte) *Reader {
	r, err := Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	return r
}

func sectionOf(t testing.TB, r *Reader, key string) *SectionReader {
	s, ok := r.Section(key)
	require.True(t, ok, key)
	return s
}

// readAll reads a section in one go.
func readAll(s *SectionReader) ([]byte, error) {
	p := make([]byte, s.Info().Size)
	return p, s.ReadSpans(context.Background(), [][]byte{p})
}

// inspect opens and verifies a file and reads its sections in all ways. It
// returns the first error that is not one of reading a section, and says so if
// bytes that were read are not those of want, by key, or if a section could not
// be read for another reason than damage or a chunk that is elsewhere.
func inspect(data []byte, want map[string][]byte) error {
	r, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	for _, info := range r.Sections() {
		s, _ := r.Section(info.Key)
		p, err := readAll(s)
		if p := wrongRead("ReadSpans", info.Key, want[info.Key], p, err); p != nil {
			return p
		}
		p, err = io.ReadAll(s.NewReader(context.Background()))
		if p := wrongRead("NewReader", info.Key, want[info.Key], p, err); p != nil {
			return p
		}
		p = make([]byte, 2)
		for _, off := range []int64{0, info.Size / 2, max(0, info.Size-2)} {
			n, err := s.ReadAt(p, off)
			if err == io.EOF {
				err = nil
			}
			if p := wrongRead("ReadAt", info.Key, want[info.Key][off:][:n], p[:n], err); p != nil {
				return p
			}
		}
	}
	return r.Verify(context.Background())
}

func wrongRead(how, key string, want, got []byte, err error) error {
	switch {
	case err == nil && !bytes.Equal(got, want):
		return fmt.Errorf("%s of %q returned wrong bytes", how, key)
	case err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrElsewhere):
		return fmt.Errorf("%s of %q: another error than damage: %v", how, key, err)
	}
	return nil
}

// resign makes all checksums of a changed file fit again, so that its contents
// reach the checks behind them: of the preamble, the header, the footer and the
// trailer. Lengths that lie outside of the file are left alone.
func resign(data []byte) {
	size := len(data)
	if size < preambleSize+4+trailerSize {
		return
	}
	le.PutUint32(data[24:], checksum(data[:24]))
	headerEnd := preambleSize + int64(le.Uint32(data[20:])) + 4
	if headerEnd > int64(size-trailerSize) {
		return
	}
	le.PutUint32(data[headerEnd-4:], checksum(data[preambleSize:headerEnd-4]))
	t := data[size-trailerSize:]
	offset := le.Uint64(t)
	if end := uint64(size - trailerSize); offset <= end {
		le.PutUint64(t[8:], end-offset)
		le.PutUint32(t[24:], checksum(data[offset:end]))
	}
	le.PutUint64(t[16:], uint64(size))
	le.PutUint32(t[28:], headerChecksum(data[:headerEnd]))
	le.PutUint32(t[36:], checksum(t[:36]))
	copy(t[40:], endMagic)
}
