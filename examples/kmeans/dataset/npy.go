package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"codeberg.org/sbinet/npyio/npy"
)

// npyFile is an array of NumPy with two axes, points and coordinates.
type npyFile struct {
	file

	points int64
	dim    int
	bytes  int64 // of a coordinate: 4 or 8
}

func openNPY(path string) (Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := npyHeader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrFormat, err)
	}
	var n npyFile
	if n.file, err = newFile(f); err != nil {
		return nil, err
	}
	switch descr := r.Header.Descr; {
	case len(descr.Shape) != 2:
		return nil, fmt.Errorf("%s: %w: the array must have 2 axes, points and coordinates, and has %d", path, ErrFormat, len(descr.Shape))
	case descr.Fortran:
		return nil, fmt.Errorf("%s: %w: the array is in Fortran order; save numpy.ascontiguousarray of it", path, ErrFormat)
	case descr.Type == "'<f8'" || descr.Type == "'>f8'":
		n.bytes = 8
	case descr.Type == "'<f4'" || descr.Type == "'>f4'":
		n.bytes = 4
	default:
		return nil, fmt.Errorf("%s: %w: the type is %s, allowed are float32 and float64", path, ErrFormat, descr.Type)
	}
	n.points, n.dim = int64(r.Header.Descr.Shape[0]), r.Header.Descr.Shape[1]
	if err := checkSize(n.points, n.dim); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	begin, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if there := st.Size() - begin; n.points > there/n.bytes/int64(n.dim) {
		return nil, fmt.Errorf("%s: %w: there are %d bytes behind the header, too few for %d points", path, ErrFormat, there, n.points)
	}
	return &n, nil
}

// npyHeader reads the header. The package panics where a file is damaged or too short.
func npyHeader(r io.Reader) (reader *npy.Reader, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("damaged header: %v", p)
		}
	}()
	reader, err = npy.NewReader(r)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("it ends before its header does: %w", err)
	}
	return reader, err
}

func (n *npyFile) Size() (points int64, dim int) { return n.points, n.dim }

// Read reads the header again, so that several can read at a time.
func (n *npyFile) Read(first int64, to []float64) error {
	if len(to) == 0 {
		return nil
	}
	return n.read(func(f *os.File) error { return n.readFrom(f, first, to) })
}

func (n *npyFile) readFrom(f *os.File, first int64, to []float64) error {
	in := &struct{ io.Reader }{f}
	r, err := npyHeader(in)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", n.path, ErrFormat, err)
	}
	if _, err := f.Seek(first*int64(n.dim)*n.bytes, io.SeekCurrent); err != nil {
		return err
	}
	in.Reader = bufio.NewReaderSize(f, 1<<20)
	if err := n.decode(r, to); err != nil {
		return fmt.Errorf("%s: points from %d: %w", n.path, first, err)
	}
	return nil
}

func (n *npyFile) decode(r *npy.Reader, to []float64) error {
	if n.bytes == 8 {
		if err := r.Read(&to); err != nil {
			return err
		}
	} else {
		short := make([]float32, len(to))
		if err := r.Read(&short); err != nil {
			return err
		}
		for i, x := range short {
			to[i] = float64(x)
		}
	}
	for _, x := range to {
		if err := checkRange(x); err != nil {
			return err
		}
	}
	return nil
}
