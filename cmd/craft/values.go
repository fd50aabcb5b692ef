package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/craft-go/craft/storage/container"
)

const (
	// longestString is how many bytes are shown of a string in a list of them.
	longestString = 64
	// bytesPerElement is how many bytes of a text, or of a value that only the
	// program understands, are shown for each element that may be.
	bytesPerElement = 8
)

// firstValues are the first elements of each key, in the first file that has it.
type firstValues map[string]keyValues

type keyValues struct {
	rank int // whose they are
	text []string
	more bool // there are others
}

// read reads those of the keys that no file before has, while the file is open; bad are
// those that cannot be read.
func (f firstValues) read(part readPart, limit int) (bad []error) {
	for _, info := range part.reader.Sections() {
		if _, known := f[info.Key]; known {
			continue
		}
		v := keyValues{rank: part.reader.Header().Rank}
		var err error
		if v.text, v.more, err = readFirstValues(part.reader, info, limit); err != nil {
			bad = append(bad, fmt.Errorf("%s: the values of key %q cannot be read: %w", part.path, info.Key, err))
		}
		f[info.Key] = v
	}
	return bad
}

// readFirstValues decodes the first elements of a section as text. What cannot be read
// shows up as the reason in angle brackets, and is an error unless it is in another file.
func readFirstValues(r *container.Reader, info container.Info, limit int) (values []string, more bool, err error) {
	s, ok := r.Section(info.Key)
	if !ok {
		return nil, false, nil
	}
	values, more, err = decodeFirst(s, info, limit)
	switch {
	case errors.Is(err, container.ErrElsewhere):
		return []string{"<in the file of another rank>"}, false, nil
	case err != nil:
		return []string{"<" + err.Error() + ">"}, false, err
	}
	return values, more, nil
}

func decodeFirst(s io.ReaderAt, info container.Info, limit int) (values []string, more bool, err error) {
	switch info.Desc.Elem {
	case container.String:
		return decodeText(s, info.Size, limit)
	case container.Opaque:
		if info.Desc.Type == "[]string" {
			return decodeTexts(s, info.Size, limit)
		}
		return decodeOpaque(s, info.Size, limit)
	}
	width := int64(info.Desc.Elem.Size())
	n := min(int64(limit), info.Size/width)
	b, err := readFirst(s, 0, n*width)
	for ; err == nil && len(b) > 0; b = b[width:] {
		values = append(values, formatElement(info.Desc.Elem, b[:width]))
	}
	return values, n*width < info.Size, err
}

// readFirst reads n bytes, which the section has.
func readFirst(s io.ReaderAt, off, n int64) ([]byte, error) {
	b := make([]byte, n)
	if got, err := s.ReadAt(b, off); int64(got) < n {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return b, nil
}

func decodeText(s io.ReaderAt, size int64, limit int) ([]string, bool, error) {
	n := min(size, int64(limit)*bytesPerElement)
	b, err := readFirst(s, 0, n)
	if err != nil {
		return nil, false, err
	}
	if n < size {
		b = wholeRunes(b)
	}
	return []string{strconv.Quote(string(b))}, n < size, nil
}

// wholeRunes leaves out a character that was cut at the end.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if at := len(b) - i; utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return b[:at]
			}
			break
		}
	}
	return b
}

// decodeTexts reads a list of strings: their number, their lengths, their
// bytes.
func decodeTexts(s io.ReaderAt, size int64, limit int) ([]string, bool, error) {
	head, err := readFirst(s, 0, min(8, size))
	if err != nil || len(head) < 8 {
		return decodeOpaque(s, size, limit)
	}
	count := binary.LittleEndian.Uint64(head)
	if count > uint64(size/8-1) {
		return decodeOpaque(s, size, limit)
	}
	n := min(int64(limit), int64(count))
	lengths, err := readFirst(s, 8, 8*n)
	if err != nil {
		return nil, false, err
	}
	off := 8 + 8*int64(count)
	values := make([]string, 0, n)
	for ; len(lengths) > 0; lengths = lengths[8:] {
		length := binary.LittleEndian.Uint64(lengths)
		if length > uint64(size-off) {
			return decodeOpaque(s, size, limit)
		}
		b, err := readFirst(s, off, int64(min(length, longestString)))
		if err != nil {
			return nil, false, err
		}
		if length > longestString {
			values = append(values, strconv.Quote(string(wholeRunes(b)))+"...")
		} else {
			values = append(values, strconv.Quote(string(b)))
		}
		off += int64(length)
	}
	return values, n < int64(count), nil
}

func decodeOpaque(s io.ReaderAt, size int64, limit int) ([]string, bool, error) {
	n := min(size, int64(limit)*bytesPerElement)
	b, err := readFirst(s, 0, n)
	if err != nil || n == 0 {
		return nil, false, err
	}
	return []string{fmt.Sprintf("0x%x", b)}, n < size, nil
}

// formatElement writes numbers with as many digits as tell them apart.
func formatElement(e container.Elem, b []byte) string {
	le := binary.LittleEndian
	switch e {
	case container.Bool:
		return strconv.FormatBool(b[0] != 0)
	case container.Int8:
		return strconv.Itoa(int(int8(b[0])))
	case container.Int16:
		return strconv.Itoa(int(int16(le.Uint16(b))))
	case container.Int32:
		return strconv.Itoa(int(int32(le.Uint32(b))))
	case container.Int64:
		return strconv.FormatInt(int64(le.Uint64(b)), 10)
	case container.Uint8:
		return strconv.Itoa(int(b[0]))
	case container.Uint16:
		return strconv.Itoa(int(le.Uint16(b)))
	case container.Uint32:
		return strconv.FormatUint(uint64(le.Uint32(b)), 10)
	case container.Uint64:
		return strconv.FormatUint(le.Uint64(b), 10)
	case container.Float32:
		return formatFloat(float64(math.Float32frombits(le.Uint32(b))), 32)
	case container.Float64:
		return formatFloat(math.Float64frombits(le.Uint64(b)), 64)
	case container.Complex64:
		return strconv.FormatComplex(complex(float64(math.Float32frombits(le.Uint32(b))), float64(math.Float32frombits(le.Uint32(b[4:])))), 'g', -1, 64)
	case container.Complex128:
		return strconv.FormatComplex(complex(math.Float64frombits(le.Uint64(b)), math.Float64frombits(le.Uint64(b[8:]))), 'g', -1, 128)
	}
	return fmt.Sprintf("0x%x", b)
}

func formatFloat(x float64, bits int) string { return strconv.FormatFloat(x, 'g', -1, bits) }
