package container

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// sourcesOf are sources in memory; nil: there is none.
func sourcesOf(files ...[]byte) Sources {
	return func(i int) (io.ReaderAt, int64, error) {
		switch {
		case i >= len(files):
			return nil, 0, io.EOF
		case files[i] == nil:
			return nil, 0, nil
		}
		return bytes.NewReader(files[i]), int64(len(files[i])), nil
	}
}

func openAny(open Sources) (*Reader, error) { return OpenWanted(open, nil) }

// readSources opens a file, verifies it, and reads all sections in several ways.
func readSources(t testing.TB, open Sources, want map[string][]byte) (*Reader, error) {
	r, err := openAny(open)
	if err != nil {
		return nil, err
	}
	for key, raw := range want {
		s := sectionOf(t, r, key)
		got, err := readAll(s)
		if err != nil {
			return r, err
		}
		requireSame(t, raw, got, key)
		if got, err = io.ReadAll(s.NewReader(context.Background())); err != nil {
			return r, err
		}
		requireSame(t, raw, got, key)
		scattered := make([]byte, len(raw))
		if err := s.ReadSpans(context.Background(), rows(scattered, 24)); err != nil {
			return r, err
		}
		requireSame(t, raw, scattered, key)
	}
	return r, r.Verify(context.Background())
}

// Every flipped bit of the first source, and every truncation, is made good from
// the second one, whose opening tells that something is wrong with the first.
func TestEveryFlippedBitIsRepaired(t *testing.T) {
	rng := testseed.Rand(t)
	for _, c := range damageCases(t, rng) {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if c.name == "split" {
				want = nil
			}
			check := func(bad []byte, at int) {
				asked := 0
				_, err := readSources(t, func(i int) (io.ReaderAt, int64, error) {
					asked = i
					return sourcesOf(bad, c.data)(i)
				}, want)
				require.NoError(t, err, "byte %d", at)
				require.Equal(t, 1, asked, "byte %d", at)
				_, err = readSources(t, sourcesOf(c.data, bad), want)
				require.NoError(t, err)
			}
			bits := c.bits(t, rng)
			tried := 200
			if testing.Short() {
				tried = 20
			}
			for i := rng.IntN(5); i < len(bits); i += 1 + rng.IntN(1+len(bits)/tried) {
				bad := bytes.Clone(c.data)
				bad[bits[i]/8] ^= 1 << (bits[i] % 8)
				check(bad, bits[i]/8)
			}
			for range 20 {
				n := rng.IntN(len(c.data))
				check(c.data[:n], n)
				check(append(bytes.Clone(c.data), make([]byte, 1+n)...), n)
			}
		})
	}
}

// Two or three sources of which none is good, but all bytes are good somewhere.
func TestSourcesTogetherAreGood(t *testing.T) {
	data, want := faultFile(t)
	r := openFile(t, data)
	var places []int64
	for i := range r.x.chunks {
		places = append(places, r.x.chunks[i].offset+int64(r.x.chunks[i].stored)/2)
	}
	places = append(places, preambleSize+3, r.trailer.footerOffset+1, r.trailer.fileSize-3)
	for n := 2; n <= 3; n++ {
		for shift := range n {
			files := make([][]byte, n)
			for i := range files {
				files[i] = bytes.Clone(data)
			}
			for i, at := range places {
				for k := range n {
					if k != (i+shift)%n {
						files[k][at] ^= 0x10
					}
				}
			}
			_, err := readSources(t, sourcesOf(files...), want)
			require.NoError(t, err)
			_, err = readSources(t, sourcesOf(files[:n-1]...), want)
			require.ErrorIs(t, err, ErrDamaged)
		}
	}
}

// All small chunks of a unit that is verified in one go, and the padding, are
// looked for one by one.
func TestSourcesWithinOneUnit(t *testing.T) {
	rng := testseed.Rand(t)
	data := encodeFile(t, Options{}, spanSection("a", noise.bytes(rng, 100)), spanSection("b", noise.bytes(rng, 100)), spanSection("c", noise.bytes(rng, alignedChunk)))
	r := openFile(t, data)
	one, two := bytes.Clone(data), bytes.Clone(data)
	one[r.x.chunks[0].offset] ^= 1
	two[r.x.chunks[1].offset] ^= 1
	two[r.x.chunks[2].offset-1] ^= 1
	one[r.x.chunks[2].offset] ^= 1
	for _, files := range [][][]byte{{one, two}, {two, one}} {
		_, err := readSources(t, sourcesOf(files...), nil)
		require.NoError(t, err)
		_, err = readSources(t, sourcesOf(files[0]), nil)
		require.ErrorIs(t, err, ErrDamaged)
	}
}

// A first source that cannot be read, wherever that begins.
func TestReadErrorsOfTheFirstSource(t *testing.T) {
	data, want := faultFile(t)
	count := &hookedFile{data: data}
	_, err := readSources(t, func(i int) (io.ReaderAt, int64, error) { return count, int64(len(data)), nil }, want)
	require.NoError(t, err)
	total := count.reads.Load()
	bad := bytes.Clone(data)
	bad[len(bad)-1] ^= 1
	for failing := range total {
		if testing.Short() && failing%4 != 0 {
			continue
		}
		var asked [4]atomic.Int64
		sources := func(second []byte) Sources {
			return func(i int) (io.ReaderAt, int64, error) {
				asked[i].Add(1)
				switch i {
				case 0:
					return &hookedFile{data: data, before: func(read int64) error {
						if read >= failing {
							return syscall.EIO
						}
						return nil
					}}, int64(len(data)), nil
				case 1:
					return nil, 0, nil
				case 2:
					return bytes.NewReader(second), int64(len(second)), nil
				}
				return nil, 0, io.EOF
			}
		}
		_, err := readSources(t, sources(data), want)
		require.NoError(t, err, "read %d", failing)
		for i := range asked {
			require.LessOrEqual(t, asked[i].Load(), int64(1))
		}
		if failing >= 3 {
			continue
		}
		_, err = readSources(t, sources(bad[:len(bad)/2]), want)
		require.ErrorIs(t, err, syscall.EIO)
		require.NotErrorIs(t, err, ErrDamaged, "one of them could not be read: it may be good")
	}
}

func TestErrorsOfAllSources(t *testing.T) {
	data, want := faultFile(t)
	bad := bytes.Clone(data)
	bad[200] ^= 1
	worse := bytes.Clone(bad)
	worse[0]++
	mine := errors.New("node does not answer")
	fails := func(at int, s Sources) Sources {
		return func(i int) (io.ReaderAt, int64, error) {
			if i == at {
				return nil, 0, mine
			}
			return s(i)
		}
	}
	var damage *DamageError
	_, err := readSources(t, sourcesOf(bad, worse), want)
	require.ErrorAs(t, err, &damage)
	require.EqualValues(t, openFile(t, data).headerEnd, damage.Offset, "that of the first source")

	for at := range 3 {
		_, err = readSources(t, fails(at, sourcesOf(bad, worse, bad)), want)
		require.ErrorIs(t, err, mine)
		require.NotErrorIs(t, err, ErrDamaged)
		require.ErrorContains(t, err, "damaged file")
	}
	_, err = readSources(t, fails(0, sourcesOf(nil, data)), want)
	require.NoError(t, err)
	_, err = readSources(t, fails(1, sourcesOf(bad, nil, data)), want)
	require.NoError(t, err)
	_, err = readSources(t, sourcesOf(nil, data), want)
	require.NoError(t, err)
	for _, none := range []Sources{sourcesOf(), sourcesOf(nil), sourcesOf(nil, nil)} {
		_, err = openAny(none)
		require.ErrorContains(t, err, "no source")
		require.NotErrorIs(t, err, ErrDamaged)
	}
	_, err = openAny(fails(0, sourcesOf()))
	require.ErrorIs(t, err, mine)

	// The beginning of another file.
	_, err = readSources(t, sourcesOf(encodeHeader(t, Header{Version: 1, Size: 1})[:100], data), want)
	require.NoError(t, err)

	// Other bytes do not help against these.
	newer := patch(data, 12, u16(2)...)
	_, err = openAny(sourcesOf(newer, data))
	require.ErrorIs(t, err, ErrUnsupported)
	r, err := openAny(sourcesOf(data, data))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, r.Verify(ctx), context.Canceled)
}

// A file that is only a source as long as nothing is wrong with it is not asked.
func TestOtherSourcesAreOpenedWhenNeeded(t *testing.T) {
	data, want := faultFile(t)
	_, err := readSources(t, func(i int) (io.ReaderAt, int64, error) {
		require.Zero(t, i)
		return bytes.NewReader(data), int64(len(data)), nil
	}, want)
	require.NoError(t, err)
}

// Another file, whole, in the place of the first source is not the one that is verified.
func TestVerifyBesideAnotherFile(t *testing.T) {
	rng := testseed.Rand(t)
	other := encodeHeader(t, Header{Name: "cp", Version: 5, Size: 1}, spanSection("a", noise.bytes(rng, 5000)))
	data := encodeHeader(t, Header{Name: "cp", Version: 6, Size: 1}, spanSection("a", noise.bytes(rng, 5000)))
	wanted := func(h Header) error {
		if h.Version != 6 {
			return &DamageError{Reason: "another version"}
		}
		return nil
	}
	for _, files := range [][][]byte{{other, data}, {data, other}, {other, other[:100], nil, data}} {
		r, err := OpenWanted(sourcesOf(files...), wanted)
		require.NoError(t, err)
		require.NoError(t, r.Verify(t.Context()))
	}
	bad := bytes.Clone(data)
	r, err := OpenWanted(sourcesOf(other, bad), wanted)
	require.NoError(t, err)
	copy(bad, other) // behind the reader's back
	require.ErrorIs(t, r.Verify(t.Context()), ErrDamaged)
}
