package codec

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// Bytes that no writer makes are refused, without much memory, and leave a valid
// value.
func TestDamagedBytes(t *testing.T) {
	const huge = "ff ff ff ff ff ff ff ff 7f"
	for name, c := range map[string]struct {
		schema, data string
		into         any
		is           error
	}{
		"bool":                  {"02 14 01 01 56 01  01", "02", new(struct{ V bool }), element.ErrCorrupt},
		"bool in a map":         {"03 15 01 02 05 01", "02 0000000000000000 02", new(map[int64]bool), element.ErrCorrupt},
		"nanoseconds of a time": {"02 14 01 01 56 01  0f", "0000000000000000 00ca9a3b 00000000", new(struct{ V time.Time }), element.ErrCorrupt},
		"pointer":               {"02 11 01 05", "02 0000000000000000", new(*int64), element.ErrCorrupt},
		"same key twice":        {"02 15 01 01 05", "03 0100000000000000 0100000000000000 0200000000000000 0300000000000000", new(map[int64]int64), element.ErrCorrupt},
		"same text twice":       {"03 15 01 02 0e 02", "03 0161 0161 00 00", new(map[string]int8), element.ErrCorrupt},
		"bytes behind":          {"02 14 01 01 56 01  05", "0000000000000000 00", new(struct{ V int64 }), element.ErrCorrupt},
		"huge slice":            {"02 12 01 14 01 01 56 02 05", huge, new([]struct{ V int64 }), element.ErrCorrupt},
		"huge elements":         {"03 12 01 14 01 01 56 02 05", huge, new([]struct{ V int64 }), element.ErrCorrupt},
		"long slice":            {"03 12 01 14 01 01 56 02 05", "ff ff ff ff 0f", new([]struct{ V int64 }), io.ErrUnexpectedEOF},
		"long map":              {"02 15 01 01 05", "ff ff ff ff 0f", new(map[int64]int64), io.ErrUnexpectedEOF},
		"long text":             {"02 14 01 01 56 01  0e", "ff ff ff ff 0f", new(struct{ V string }), io.ErrUnexpectedEOF},
		"huge text":             {"02 14 01 01 56 01  0e", "ff ff ff ff ff ff ff ff ff 01", new(struct{ V string }), element.ErrCorrupt},
		"long number":           {"02 14 01 01 56 01  0e", "ff ff ff ff ff ff ff ff ff ff ff", new(struct{ V string }), element.ErrCorrupt},
		"elements of nothing":   {"02 12 01 14 00", "ff ff ff ff 0f", new([]struct{ V int64 }), element.ErrCorrupt},
		"keys of nothing":       {"03 15 01 02 14 00 05", "03 0000000000000000 0000000000000000", new(map[struct{}]int64), element.ErrCorrupt},
		"skipped slice":         {"04 14 02 01 56 01 01 57 02 05 12 03 05", "0000000000000000 ff ff ff ff 0f", new(struct{ V int64 }), io.ErrUnexpectedEOF},
		"no types":              {"00", "", new(struct{ V int64 }), element.ErrCorrupt},
		"unknown kind":          {"01 16", "", new(struct{ V int64 }), element.ErrCorrupt},
		"type out of range":     {"01 12 01", "", new([]struct{}), element.ErrCorrupt},
		"contains itself":       {"01 14 01 01 56 00", "", new(struct{ V int64 }), element.ErrCorrupt},
		"array of itself":       {"01 13 02 00", "", new(struct{ V int64 }), element.ErrCorrupt},
		"too big":               {"02 13 " + huge + " 01 05", "", new(struct{ V int64 }), element.ErrCorrupt},
		"same field twice":      {"02 14 02 01 56 01 01 56 01 05", "", new(struct{ V int64 }), element.ErrCorrupt},
		"impossible keys":       {"02 15 01 01 12 01", "", new(map[string]int64), element.ErrCorrupt},
		"bytes in the schema":   {"02 14 01 01 56 01  05 05", "0000000000000000", new(struct{ V int64 }), element.ErrCorrupt},
	} {
		schema := unhex(t, c.schema)
		stored := slices.Concat([]byte("\x8bCS\x01"), uvarint(len(schema)), schema, unhex(t, c.data))
		err := read(t, stored, c.into)
		require.ErrorIs(t, err, c.is, name)
		bytesOf(t, c.into)
	}
}

// A list without end is refused before the stack is full, also when it is
// skipped.
func TestDamagedDepth(t *testing.T) {
	type list struct{ Next *list }
	type holder struct{ V int8 }
	endless := bytes.Repeat([]byte{1}, 1<<20)
	schema := unhex(t, "02  14 01 04 4e 65 78 74 01  11 00")
	err := read(t, slices.Concat([]byte("\x8bCS\x01\x0b"), schema, endless), new(list))
	require.ErrorIs(t, err, element.ErrCorrupt)
	require.ErrorContains(t, err, "within each other")
	schema = unhex(t, "04  14 02 01 56 03 01 57 01  11 02  14 01 01 4e 01  02")
	err = read(t, slices.Concat([]byte("\x8bCS\x01\x11"), schema, endless), new(holder))
	require.ErrorIs(t, err, element.ErrCorrupt)
	require.ErrorContains(t, err, "within each other")
}
