package dataset

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// csvFile is a file with a point in each line. Its first line may have names of the
// coordinates, none of which is a number; empty lines, and those that begin with #, do not count.
type csvFile struct {
	file

	points int64
	dim    int
	marks  []csvMark // of the points 0, csvStep, 2*csvStep, ...
}

// csvMark is where a line begins.
type csvMark struct {
	offset int64
	line   int // before it
}

// csvStep is how many points are between two marks.
const csvStep = 256

func newCSV(r io.Reader) *csv.Reader {
	c := csv.NewReader(bufio.NewReaderSize(r, 1<<20))
	c.Comment, c.TrimLeadingSpace, c.ReuseRecord = '#', true, true
	return c
}

// openCSV goes through the file once, to know where the points are.
func openCSV(path string) (Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := new(csvFile)
	if c.file, err = newFile(f); err != nil {
		return nil, err
	}
	begin, err := behindMark(f)
	if err != nil {
		return nil, err
	}
	r := newCSV(f)
	for at := (csvMark{offset: begin}); ; at.offset = begin + r.InputOffset() {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", path, ErrFormat, err)
		}
		line, _ := r.FieldPos(0)
		if c.dim == 0 {
			c.dim = len(record)
			if !slices.ContainsFunc(record, isNumber) {
				at.line = line
				continue // names
			}
		}
		if c.points%csvStep == 0 {
			c.marks = append(c.marks, at)
		}
		c.points++
		at.line = line
	}
	if err := checkSize(c.points, c.dim); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// behindMark goes behind a byte order mark, if there is one, and returns where that is.
func behindMark(f *os.File) (int64, error) {
	const mark = "\ufeff"
	var b [len(mark)]byte
	n, err := f.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if string(b[:n]) != mark {
		return 0, nil
	}
	return f.Seek(int64(n), io.SeekStart)
}

func (c *csvFile) Size() (points int64, dim int) { return c.points, c.dim }

func (c *csvFile) Read(first int64, to []float64) error {
	if len(to) == 0 {
		return nil
	}
	return c.read(func(f *os.File) error { return c.readFrom(f, first, to) })
}

func (c *csvFile) readFrom(f *os.File, first int64, to []float64) error {
	mark := c.marks[first/csvStep]
	if _, err := f.Seek(mark.offset, io.SeekStart); err != nil {
		return err
	}
	r := newCSV(f)
	r.FieldsPerRecord = c.dim
	for i := first / csvStep * csvStep; len(to) > 0; i++ {
		record, err := r.Read()
		if err != nil {
			return fmt.Errorf("%s: point %d: %w", c.path, i, err)
		}
		if i < first {
			continue
		}
		for j, text := range record {
			if to[j], err = parse(text); err != nil {
				line, _ := r.FieldPos(j)
				return fmt.Errorf("%s: line %d: %w", c.path, mark.line+line, err)
			}
		}
		to = to[c.dim:]
	}
	return nil
}

// isNumber reports whether a field is one, of whatever size. A line with some is a point, of which the others are wrong:
// were it taken for names the point would be missed.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return !errors.Is(err, strconv.ErrSyntax)
}

func parse(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case err == nil:
	case strings.ContainsAny(strings.TrimSpace(text), "; \t"):
		return 0, fmt.Errorf("%w: %q is no number: commas separate the coordinates", ErrFormat, text)
	default:
		return 0, fmt.Errorf("%w: %q is no number", ErrFormat, text)
	}
	return x, checkRange(x)
}
