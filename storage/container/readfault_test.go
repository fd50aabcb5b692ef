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

// hookedFile is a file in memory whose reads are counted and can be changed.
type hookedFile struct {
	data  []byte
	reads atomic.Int64
	// before is called with the number of the read, from 0; an error is that of
	// the read.
	before func(read int64) error
	most   int // bytes that a read returns; 0: any number
}

func (f *hookedFile) ReadAt(p []byte, off int64) (int, error) {
	read := f.reads.Add(1) - 1
	if f.before != nil {
		if err := f.before(read); err != nil {
			return 0, err
		}
	}
	if f.most > 0 && len(p) > f.most {
		return bytes.NewReader(f.data).ReadAt(p[:f.most], off)
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}

// faultFile is a file with sections of all ways of reading.
func faultFile(t *testing.T) ([]byte, map[string][]byte) {
	rng := testseed.Rand(t)
	want := map[string][]byte{
		"small": noise.bytes(rng, 100), "large": noise.bytes(rng, 3*alignedChunk+1), "huge": noise.bytes(rng, 5*pieceSize),
		"smooth": smooth.bytes(rng, 2*alignedChunk), "scattered": noise.bytes(rng, 2*alignedChunk), "middle": noise.bytes(rng, 20_000),
	}
	var sections []Section
	for _, key := range []string{"small", "large", "huge", "smooth", "scattered", "middle"} {
		sections = append(sections, spanSection(key, want[key]))
	}
	return encodeFile(t, Options{ChunkSize: 1 << 20}, sections...), want
}

// use opens a file and reads all of it in several ways; it returns the first
// error, and fails the test if anything else was read than want.
func use(t *testing.T, f io.ReaderAt, size int64, want map[string][]byte) error {
	ctx := context.Background()
	if _, err := ReadHeader(f, size); err != nil {
		return err
	}
	r, err := Open(f, size)
	if err != nil {
		return err
	}
	if err := r.Verify(ctx); err != nil {
		return err
	}
	for _, info := range r.Sections() {
		s := sectionOf(t, r, info.Key)
		p := make([]byte, info.Size)
		spans := [][]byte{p}
		if info.Key == "scattered" {
			spans = rows(p, 24)
		}
		if err := s.ReadSpans(ctx, spans); err != nil {
			return err
		}
		requireSame(t, want[info.Key], p, info.Key)
		if _, err := s.ReadAt(p[:50], 50); err != nil {
			return err
		}
		requireSame(t, want[info.Key][50:100], p[:50], info.Key)
		in := s.NewReader(ctx)
		if _, err := io.ReadFull(in, p[:10]); err != nil {
			return err
		}
		if _, err := io.ReadFull(in, p[10:]); err != nil {
			return err
		}
		requireSame(t, want[info.Key], p, info.Key)
	}
	return nil
}

// An error of the device at any read is passed on, and is not damage.
func TestReadErrorsPassThrough(t *testing.T) {
	data, want := faultFile(t)
	f := &hookedFile{data: data}
	require.NoError(t, use(t, f, int64(len(data)), want))
	total := f.reads.Load()
	require.Greater(t, total, int64(20))
	for failing := range total {
		f := &hookedFile{data: data, before: func(read int64) error {
			if read >= failing {
				return syscall.EIO
			}
			return nil
		}}
		err := use(t, f, int64(len(data)), want)
		if err == nil {
			// Reads in parallel do not always come in the same number.
			require.LessOrEqual(t, f.reads.Load(), failing)
			continue
		}
		require.ErrorIs(t, err, syscall.EIO, "read %d of %d", failing, total)
		require.NotErrorIs(t, err, ErrDamaged)

		once := &hookedFile{data: data, before: func(read int64) error {
			if read == failing {
				return syscall.EIO
			}
			return nil
		}}
		if err := use(t, once, int64(len(data)), want); err != nil {
			require.ErrorIs(t, err, syscall.EIO, "read %d of %d", failing, total)
			require.NotErrorIs(t, err, ErrDamaged)
		}
	}
}

// A part of the file that cannot be read does not keep small values beside it
// from being read.
func TestReadErrorBesideSmallValues(t *testing.T) {
	data, want := faultFile(t)
	bad := errors.New("bad block")
	r, err := Open(readerAtFunc(func(p []byte, off int64) (int, error) {
		if off < 100_000 && off+int64(len(p)) > 50_000 {
			return 0, bad
		}
		return bytes.NewReader(data).ReadAt(p, off)
	}), int64(len(data)))
	require.NoError(t, err)
	got, err := readAll(sectionOf(t, r, "small"))
	require.NoError(t, err)
	require.Equal(t, want["small"], got)
	_, err = readAll(sectionOf(t, r, "large"))
	require.ErrorIs(t, err, bad)
	require.ErrorContains(t, err, `"large"`)
}

// Verify reads small values together, but names the one that cannot be read.
func TestVerifyNamesWhatCannotBeRead(t *testing.T) {
	rng := testseed.Rand(t)
	data := encodeFile(t, Options{}, spanSection("good", noise.bytes(rng, 1000)), spanSection("bad", noise.bytes(rng, 1000)),
		spanSection("large", noise.bytes(rng, 2*tailSize)))
	bad := errors.New("bad block")
	r := openFile(t, data)
	at := r.x.chunksOf(&r.x.entries[1])[0].offset + 500
	r, err := openAny(func(i int) (io.ReaderAt, int64, error) {
		if i > 0 {
			return nil, 0, io.EOF
		}
		return readerAtFunc(func(p []byte, off int64) (int, error) {
			if off > 0 && off <= at && at < off+int64(len(p)) { // from 0 on only the header is wanted
				return 0, bad
			}
			return bytes.NewReader(data).ReadAt(p, off)
		}), int64(len(data)), nil
	})
	require.NoError(t, err)
	err = r.Verify(context.Background())
	require.ErrorIs(t, err, bad)
	require.ErrorContains(t, err, `"bad"`)
}

type readerAtFunc func(p []byte, off int64) (int, error)

func (f readerAtFunc) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

func TestShortReads(t *testing.T) {
	data, want := faultFile(t)
	// Each read returns a part, without an error, as a bad ReaderAt may.
	f := &hookedFile{data: data, most: 7919}
	require.NoError(t, use(t, f, int64(len(data)), want))

	nothing := readerAtFunc(func([]byte, int64) (int, error) { return 0, nil })
	err := use(t, nothing, int64(len(data)), want)
	require.ErrorIs(t, err, io.ErrNoProgress)
	require.NotErrorIs(t, err, ErrDamaged)

	// The last bytes may come with io.EOF.
	eof := readerAtFunc(func(p []byte, off int64) (int, error) {
		n, err := bytes.NewReader(data).ReadAt(p, off)
		if off+int64(n) == int64(len(data)) {
			err = io.EOF
		}
		return n, err
	})
	require.NoError(t, use(t, eof, int64(len(data)), want))
}

// A file that shrinks while it is read is damaged, wherever the reader is.
func TestFileShrinksWhileReading(t *testing.T) {
	data, want := faultFile(t)
	f := &hookedFile{data: data}
	require.NoError(t, use(t, f, int64(len(data)), want))
	total := f.reads.Load()
	for at := range total {
		var shrunk atomic.Bool
		f := readerAtFunc(nil)
		var reads atomic.Int64
		f = func(p []byte, off int64) (int, error) {
			d := data
			if reads.Add(1) > at {
				shrunk.Store(true)
				d = data[:preambleSize/2]
			}
			return bytes.NewReader(d).ReadAt(p, off)
		}
		if err := use(t, f, int64(len(data)), want); err != nil || shrunk.Load() {
			require.ErrorIs(t, err, ErrDamaged, "read %d of %d", at, total)
		}
	}
	unexpected := readerAtFunc(func([]byte, int64) (int, error) { return 0, io.ErrUnexpectedEOF })
	require.ErrorIs(t, use(t, unexpected, int64(len(data)), want), ErrDamaged)
}

// Verify looks at the file as it is, not at what Open has read.
func TestVerifyFindsAReplacedFile(t *testing.T) {
	one := encodeFile(t, Options{}, spanSection("a", []byte("1")))
	for name, sections := range map[string][]Section{
		"another value": {spanSection("a", []byte("2"))},
		"another key":   {spanSection("b", []byte("1"))},
	} {
		data := bytes.Clone(one)
		r := openFile(t, data)
		require.Equal(t, len(data), copy(data, encodeFile(t, Options{}, sections...)))
		require.ErrorIs(t, r.Verify(context.Background()), ErrDamaged, name)
	}
}
