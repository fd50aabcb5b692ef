package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// read reads those of the keys that no file before has, while the file is open. What cannot be
// read shows up as the reason in angle brackets, and is bad unless it is in another file.
func (f firstValues) read(part readPart, limit int) (bad []error) {
	for _, info := range part.reader.Sections() {
		if _, known := f[info.Key]; known {
			continue
		}
		v := keyValues{rank: part.reader.Header().Rank}
		section, _ := part.reader.Section(info.Key) // it is there
		var err error
		v.text, v.more, err = decodeFirst(section, info, limit)
		switch {
		case errors.Is(err, container.ErrElsewhere):
			v.text, v.more = []string{"<in the file of another rank>"}, false
		case err != nil:
			v.text, v.more = []string{"<" + err.Error() + ">"}, false
			bad = append(bad, fmt.Errorf("%s: the values of key %q cannot be read: %w", part.path, info.Key, err))
		}
		f[info.Key] = v
	}
	return bad
}

// decodeFirst decodes the first elements of a section as text.
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
		values = append(values, formats[info.Desc.Elem](b[:width]))
	}
	return values, n*width < info.Size, err
}

// readFirst reads n bytes, which the section has.
func readFirst(s io.ReaderAt, off, n int64) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(io.NewSectionReader(s, off, n), b)
	return b, err
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

// formats write the elements that have a size; numbers with as many digits as tell them apart.
var formats = map[container.Elem]func(b []byte) string{
	container.Bool:       format[bool],
	container.Int8:       format[int8],
	container.Int16:      format[int16],
	container.Int32:      format[int32],
	container.Int64:      format[int64],
	container.Uint8:      format[uint8],
	container.Uint16:     format[uint16],
	container.Uint32:     format[uint32],
	container.Uint64:     format[uint64],
	container.Float32:    format[float32],
	container.Float64:    format[float64],
	container.Complex64:  format[complex64],
	container.Complex128: format[complex128],
}

func format[T any](b []byte) string {
	var x T
	_, _ = binary.Decode(b, binary.LittleEndian, &x) // b is as long as x is
	return fmt.Sprint(x)
}
