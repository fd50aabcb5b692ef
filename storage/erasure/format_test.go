package erasure

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenSets are sets whose parity files the format promises.
func goldenSets(t testing.TB) map[string]*set {
	rng := rand.New(rand.NewPCG(5, 0))
	return map[string]*set{
		"xor":   newSet(t, rng, Layout{Members: 3, Parity: 1, Block: 16}, []int64{40, 0, 17}),
		"rs":    newSet(t, rng, Layout{Members: 5, Parity: 2, Block: 16}, []int64{33, 48, 1, 0, 90}),
		"empty": newSet(t, rng, Layout{Members: 2, Parity: 1, Block: 4096}, []int64{0, 0}),
	}
}

// fuzzFiles are small, so that fuzzing and flipping every bit is fast.
func fuzzFiles(t testing.TB) [][]byte {
	var files [][]byte
	for _, s := range goldenSets(t) {
		files = append(files, s.files...)
	}
	return files
}

func TestGoldenFiles(t *testing.T) {
	for name, s := range goldenSets(t) {
		file := filepath.Join("testdata", name+".parity")
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(file, s.files[1], 0o600))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want, s.files[1], "%s: the format has changed: files of earlier versions must stay readable", name)
		p, err := OpenParity(bytes.NewReader(want), int64(len(want)))
		require.NoError(t, err)
		h := s.header
		h.Member = 1
		require.Equal(t, h, p.Header())
		require.Equal(t, s.after, p.parts)
		require.NoError(t, p.Verify(t.Context()))
	}
}

func openAndVerify(t testing.TB, data []byte) error {
	p, err := OpenParity(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	return p.Verify(t.Context())
}

func TestEveryFlippedBitIsFound(t *testing.T) {
	for _, data := range fuzzFiles(t) {
		for i := range len(data) * 8 {
			data[i/8] ^= 1 << (i % 8)
			require.ErrorIs(t, openAndVerify(t, data), ErrDamaged, "bit %d of %d", i, len(data)*8)
			data[i/8] ^= 1 << (i % 8)
		}
	}
}

func TestTruncatedAndExtendedFiles(t *testing.T) {
	for _, data := range fuzzFiles(t) {
		for n := range data {
			require.ErrorIs(t, openAndVerify(t, data[:n]), ErrDamaged, "%d of %d bytes", n, len(data))
		}
		require.ErrorIs(t, openAndVerify(t, append(slices.Clone(data), 0)), ErrDamaged)
	}
}

// A block in the place of another one of the same length is found.
func TestSwappedBlocks(t *testing.T) {
	s := newSet(t, testseed.Rand(t), Layout{3, 1, 16}, []int64{160, 160, 160})
	a, n := s.parityBlock(t, 0, 0)
	b, _ := s.parityBlock(t, 0, 3)
	n += crcSize
	swapped := slices.Clone(s.files[0])
	copy(swapped[a:], s.files[0][b:b+int64(n)])
	copy(swapped[b:], s.files[0][a:a+int64(n)])
	require.NotEqual(t, s.files[0], swapped)
	require.ErrorIs(t, openAndVerify(t, swapped), ErrDamaged)
}

// A newer format is not called damage.
func TestNewerFormats(t *testing.T) {
	data := slices.Clone(goldenSets(t)["xor"].files[0])
	for _, at := range []int{12, 16} { // major version, flags
		changed := slices.Clone(data)
		changed[at] += 2
		resign(changed)
		require.ErrorIs(t, openAndVerify(t, changed), ErrUnsupported, "byte %d", at)
	}
	changed := slices.Clone(data)
	changed[14]++ // minor version
	resign(changed)
	require.NoError(t, openAndVerify(t, changed))
}

// resign makes the checksums right of header, footer and trailer, as far as
// there are any.
func resign(data []byte) {
	if len(data) < headerFixed+crcSize+trailerSize {
		return
	}
	n := headerFixed + int(le.Uint16(data[30:])) + crcSize
	trailer := len(data) - trailerSize
	footer := trailer - memberRecord*int(le.Uint16(data[20:]))
	if n > trailer || footer < n {
		return
	}
	crc := checksum(data[:n-crcSize])
	le.PutUint32(data[n-crcSize:], crc)
	copy(data[trailer:], appendTrailer(nil, int64(len(data)), crc, checksum(data[footer:trailer])))
}

// FuzzOpenParity opens arbitrary bytes and reads all that they hold. With
// signed, the checksums are made right first, so that changes reach what is
// behind them.
func FuzzOpenParity(f *testing.F) {
	for _, data := range fuzzFiles(f) {
		f.Add(data, false)
		f.Add(data, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, signed bool) {
		if signed {
			data = slices.Clone(data)
			resign(data)
		}
		p, err := OpenParity(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			requireFormatError(t, err)
			return
		}
		total := int64(0)
		for stripe, n := range p.plan.ParityStripes(p.Header().Member) {
			total += int64(n) + crcSize
			require.LessOrEqual(t, total, int64(len(data)))
			if err := p.ReadBlock(stripe, make([]byte, n)); err != nil {
				requireFormatError(t, err)
			}
		}
		if err := p.Verify(t.Context()); err != nil {
			requireFormatError(t, err)
		}
	})
}

func requireFormatError(t *testing.T, err error) {
	if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrUnsupported) {
		require.NoError(t, err)
	}
}

// An error of the device is not damage.
func TestReadErrorsAreNotDamage(t *testing.T) {
	broken := errors.New("input/output error")
	s := goldenSets(t)["rs"]
	for at := range s.files[0] {
		r := failingAt{bytes.NewReader(s.files[0]), int64(at), broken}
		p, err := OpenParity(r, int64(len(s.files[0])))
		if err == nil {
			err = p.Verify(t.Context())
		}
		require.ErrorIs(t, err, broken)
		require.NotErrorIs(t, err, ErrDamaged)
	}
}

// Blocks with and without room for the checksum read the same.
func TestReadBlock(t *testing.T) {
	s := goldenSets(t)["rs"]
	p := s.open(t, 0)
	for stripe, n := range p.plan.ParityStripes(0) {
		tight, roomy := make([]byte, n), make([]byte, n, n+crcSize)
		require.NoError(t, p.ReadBlock(stripe, tight))
		require.NoError(t, p.ReadBlock(stripe, roomy))
		require.Equal(t, tight, roomy)
		require.ErrorIs(t, p.ReadBlock(stripe, make([]byte, n+1)), ErrInvalid)
	}
	require.ErrorIs(t, p.ReadBlock(1, make([]byte, 16)), ErrInvalid, "a stripe of others")
	require.ErrorIs(t, p.ReadBlock(-1, nil), ErrInvalid)
}

func TestWriterRefusesMistakes(t *testing.T) {
	l := Layout{3, 1, 16}
	for _, h := range []Header{{}, {Layout: l, Member: 3}, {Layout: l, Member: -1}, {Layout: l, Identity: make([]byte, 4097)}} {
		_, err := NewParityWriter(io.Discard, h)
		require.ErrorIs(t, err, ErrInvalid, "%+v", h)
	}
	parts := Parts{Sizes: []int64{0, 16, 16}, Digests: make([]uint32, 3)}
	for name, f := range map[string]func(w *ParityWriter) error{
		"stripe of others": func(w *ParityWriter) error { return w.WriteBlock(1, make([]byte, 16)) },
		"long block":       func(w *ParityWriter) error { return w.WriteBlock(0, make([]byte, 17)) },
		"twice": func(w *ParityWriter) error {
			require.NoError(t, w.WriteBlock(0, make([]byte, 16)))
			return w.WriteBlock(0, make([]byte, 16))
		},
		"too little":  func(w *ParityWriter) error { return w.Finish(parts) },
		"few digests": func(w *ParityWriter) error { return w.Finish(Parts{Sizes: parts.Sizes}) },
		"few sizes":   func(w *ParityWriter) error { return w.Finish(Parts{Digests: parts.Digests}) },
		"after the end": func(w *ParityWriter) error {
			require.NoError(t, w.WriteBlock(0, make([]byte, 16)))
			require.NoError(t, w.Finish(parts))
			return w.WriteBlock(3, nil)
		},
	} {
		w, err := NewParityWriter(io.Discard, Header{Layout: l})
		require.NoError(t, err)
		err = f(w)
		require.ErrorIs(t, err, ErrInvalid, name)
		require.ErrorIs(t, w.Finish(parts), ErrInvalid, "%s: goes on after an error", name)
	}
}

func TestWriterPassesErrorsOn(t *testing.T) {
	full := errors.New("no space")
	_, err := NewParityWriter(failingWriter{full}, Header{Layout: Layout{3, 1, 16}})
	require.ErrorIs(t, err, full)
	s := goldenSets(t)["xor"]
	for room := range s.files[0] {
		w, err := NewParityWriter(&limited{room}, Header{Layout: s.header.Layout, Identity: s.header.Identity})
		for stripe, n := range s.open(t, 0).plan.ParityStripes(0) {
			if err == nil {
				err = w.WriteBlock(stripe, make([]byte, n))
			}
		}
		if err == nil {
			err = w.Finish(s.after)
		}
		require.ErrorIs(t, err, io.ErrShortWrite, "room for %d bytes", room)
	}
}

// limited takes so many bytes, and then less without saying why.
type limited struct{ room int }

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.room)
	l.room -= n
	return n, nil
}

// Sizes whose parity would not fill the file are damage, though every checksum
// is right: nothing may be read or allocated by them.
func TestSizesThatDoNotFitTheFile(t *testing.T) {
	data := slices.Clone(goldenSets(t)["xor"].files[0])
	footer := len(data) - trailerSize - 3*memberRecord
	for _, size := range []uint64{0, 200, maxSize, maxSize + 1, 1 << 63} {
		changed := slices.Clone(data)
		le.PutUint64(changed[footer+2*memberRecord:], size)
		resign(changed)
		_, err := OpenParity(bytes.NewReader(changed), int64(len(changed)))
		require.ErrorIs(t, err, ErrDamaged, "size %d", size)
		require.ErrorContains(t, err, "footer")
	}
}
