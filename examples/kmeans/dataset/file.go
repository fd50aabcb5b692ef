package dataset

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
)

// ErrChanged is returned for a file that is not the one any more that it was: points of both would be mixed.
var ErrChanged = errors.New("the file has changed since the job has begun")

// file is one that is read again and again, as it was when it was first opened.
type file struct {
	path string
	was  fs.FileInfo
	mark int64
}

// samples are how many pieces of a file the fingerprint is made of, each of sampleBytes, beside its size and when it has
// changed: to read all of it would take each rank as long as its share of the points takes all of them.
const (
	samples     = 64
	sampleBytes = 4 << 10
)

func newFile(f *os.File) (file, error) {
	was, err := f.Stat()
	if err != nil {
		return file{}, err
	}
	h := fnv.New64a()
	fmt.Fprint(h, was.Size(), was.ModTime().UnixNano())
	for i := range int64(samples) {
		at := was.Size() / samples * i
		if i == samples-1 {
			at = max(was.Size()-sampleBytes, 0)
		}
		if _, err := io.Copy(h, io.NewSectionReader(f, at, sampleBytes)); err != nil {
			return file{}, err
		}
	}
	return file{f.Name(), was, int64(h.Sum64() >> 1)}, nil
}

// Fingerprint implements Source.
func (f *file) Fingerprint() int64 { return f.mark }

// read opens the file again for use. What use has read counts if the file has not changed then.
func (f *file) read(use func(*os.File) error) error {
	again, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer again.Close()
	err = use(again)
	is, problem := again.Stat()
	if problem != nil {
		return problem
	}
	if !os.SameFile(is, f.was) || is.Size() != f.was.Size() || !is.ModTime().Equal(f.was.ModTime()) {
		return fmt.Errorf("%s: %w", f.path, ErrChanged)
	}
	return err
}
