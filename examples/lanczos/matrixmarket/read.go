package matrixmarket

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

const (
	// maxLine is the length of a line, in bytes, above which it is an error.
	maxLine = 1 << 20

	// maxRows is what the 32-bit indices of the entries can tell apart.
	maxRows = math.MaxInt32

	// maxEmptyRows bounds the memory that a few lines can claim by a large
	// number of rows.
	maxEmptyRows = 1 << 22
)

// Read reads a matrix. A stream that begins like one of gzip is decompressed.
// The whole stream is read; what it says about its size is only checked, not
// believed. Errors about the contents are a *[LineError].
func Read(r io.Reader) (*Matrix, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzip, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, err
		}
		defer unzip.Close()
		r = unzip
	} else {
		r = buffered
	}
	s := scanner{lines: bufio.NewScanner(r)}
	s.lines.Buffer(make([]byte, 64<<10), maxLine)
	return s.matrix()
}

// scanner reads a matrix line by line.
type scanner struct {
	lines *bufio.Scanner
	line  int64
	head  header
	n     int64 // rows and columns
	count int64 // entries that the file claims

	list         []entry
	lower, upper bool // there are some below and above the diagonal
}

// at says that err is in the current line.
func (s *scanner) at(err error) error { return &LineError{Line: s.line, Err: err} }

// next gives the words of the next line that is neither empty nor a comment,
// or io.EOF.
func (s *scanner) next() ([][]byte, error) {
	for s.lines.Scan() {
		s.line++
		line := bytes.TrimSpace(s.lines.Bytes())
		if len(line) > 0 && line[0] != '%' {
			return bytes.Fields(line), nil
		}
	}
	s.line++
	switch err := s.lines.Err(); {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return nil, s.at(fmt.Errorf("%w: the line is longer than %d bytes", ErrSyntax, maxLine))
	default:
		return nil, s.at(err)
	}
}

func (s *scanner) matrix() (*Matrix, error) {
	s.line = 1
	if !s.lines.Scan() {
		switch err := s.lines.Err(); {
		case err == nil:
			return nil, s.at(fmt.Errorf("%w: the file is empty", ErrSyntax))
		case errors.Is(err, bufio.ErrTooLong): // or one without lines
			return nil, s.at(fmt.Errorf("%w: it must begin with %%%%MatrixMarket, and no line may be longer than %d bytes", ErrSyntax, maxLine))
		default:
			return nil, s.at(err)
		}
	}
	var err error
	if s.head, err = parseHeader(s.lines.Text()); err != nil {
		return nil, s.at(err)
	}
	if err := s.sizes(); err != nil {
		return nil, err
	}
	for {
		words, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := s.entry(words); err != nil {
			return nil, s.at(err)
		}
	}
	read := int64(len(s.list))
	if read != s.count {
		return nil, s.at(fmt.Errorf("%w: the file ends after %d of %d entries", ErrSyntax, read, s.count))
	}
	if s.n > read+maxEmptyRows {
		return nil, fmt.Errorf("%w: %d rows with %d entries; more than %d empty rows are refused",
			ErrTooLarge, s.n, read, maxEmptyRows)
	}
	return assemble(s.list, int(s.n), s.head.symmetry == "symmetric")
}

// sizes reads the line with rows, columns and number of entries.
func (s *scanner) sizes() error {
	words, err := s.next()
	if errors.Is(err, io.EOF) {
		return s.at(fmt.Errorf("%w: the line with rows, columns and entries is missing", ErrSyntax))
	}
	if err != nil {
		return err
	}
	if len(words) != 3 {
		return s.at(fmt.Errorf("%w: %d words in place of rows, columns and entries", ErrSyntax, len(words)))
	}
	var number [3]int64
	for i, w := range words {
		number[i], err = strconv.ParseInt(string(w), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return s.at(fmt.Errorf("%w: %q", ErrTooLarge, clip(w)))
		}
		if err != nil || number[i] < 0 {
			return s.at(fmt.Errorf("%w: %q is not a number of rows, columns or entries", ErrSyntax, clip(w)))
		}
	}
	switch s.n, s.count = number[0], number[2]; {
	case number[0] != number[1]:
		return s.at(fmt.Errorf("%w: %d rows and %d columns; the matrix must be square", ErrNotSymmetric, number[0], number[1]))
	case s.n == 0:
		return s.at(fmt.Errorf("%w: the matrix has no rows", ErrSyntax))
	case s.n > maxRows:
		return s.at(fmt.Errorf("%w: %d rows; allowed are %d", ErrTooLarge, s.n, maxRows))
	}
	return nil
}

// entry reads "row column value", or "row column" of a pattern.
func (s *scanner) entry(words [][]byte) error {
	want := 3
	if s.head.field == "pattern" {
		want = 2
	}
	if len(words) != want {
		return fmt.Errorf("%w: %d words in place of the %d of an entry (%s)", ErrSyntax, len(words), want, s.head.field)
	}
	if int64(len(s.list)) == s.count {
		return fmt.Errorf("%w: more than the %d entries that the header claims", ErrSyntax, s.count)
	}
	row, err := s.index("row", words[0])
	column, columnErr := s.index("column", words[1])
	value, valueErr := 1.0, error(nil)
	if want == 3 {
		value, valueErr = s.value(words[2])
	}
	if err := cmp.Or(err, columnErr, valueErr); err != nil {
		return err
	}
	s.lower = s.lower || row > column
	s.upper = s.upper || row < column
	if s.lower && s.upper && s.head.symmetry == "symmetric" { // each would stand for both
		return fmt.Errorf("%w: entry (%d, %d) is on the other side of the diagonal than those before; a symmetric file stores one triangle",
			ErrSyntax, row+1, column+1)
	}
	s.list = append(s.list, entry{row, column, value, s.line})
	return nil
}

// index reads a row or column number and lets it count from 0.
func (s *scanner) index(what string, word []byte) (int32, error) {
	i, err := strconv.ParseInt(string(word), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%w: %q is not a %s number", ErrSyntax, clip(word), what)
	}
	if err != nil || i < 1 || i > s.n {
		return 0, fmt.Errorf("%w: %s %s is outside 1 to %d", ErrSyntax, what, clip(word), s.n)
	}
	return int32(i - 1), nil
}

func (s *scanner) value(word []byte) (float64, error) {
	if s.head.field == "integer" {
		i, err := strconv.ParseInt(string(word), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: %q is not an integer of 64 bits", ErrSyntax, clip(word))
		}
		return float64(i), nil
	}
	v, err := strconv.ParseFloat(string(word), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%w: %q is not a finite float64", ErrSyntax, clip(word))
	}
	return v, nil
}

// clip shortens a word for a message.
func clip(word []byte) string {
	const most = 40
	if len(word) > most {
		return string(word[:most]) + "..."
	}
	return string(word)
}
