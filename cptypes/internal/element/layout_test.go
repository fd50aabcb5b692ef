package element

import (
	"bytes"
	"io"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Numbers are stored with the least significant byte first, ints in 8 bytes, on machines of
// both byte orders.
func TestLayouts(t *testing.T) {
	for _, converted := range []bool{false, true} {
		before := SameOrder
		SameOrder = before && !converted
		for _, c := range []struct {
			x    any // pointer to an array of 2
			want string
		}{
			{&[2]bool{false, true}, "\x00\x01"},
			{&[2]int8{-2, 1}, "\xfe\x01"},
			{&[2]uint16{0x102, 3}, "\x02\x01\x03\x00"},
			{&[2]int32{-2, 1}, "\xfe\xff\xff\xff\x01\x00\x00\x00"},
			{&[2]int{-2, 1}, "\xfe\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00\x00\x00\x00\x00"},
			{&[2]uint{3, 0}, "\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
			{&[2]float32{1, -2}, "\x00\x00\x80\x3f\x00\x00\x00\xc0"},
			{&[2]complex64{1 - 2i, 0}, "\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x00\x00"},
		} {
			p := reflect.ValueOf(c.x)
			l, ok := Of(p.Type().Elem().Elem().Kind())
			require.True(t, ok)
			var b bytes.Buffer
			_, err := l.Write(&b, p.UnsafePointer(), 2)
			require.NoError(t, err)
			require.Equal(t, c.want, b.String(), "%T converted: %v", c.x, converted)
			back := reflect.New(p.Type().Elem())
			_, err = l.Read(&b, back.UnsafePointer(), 2)
			require.NoError(t, err)
			require.Equal(t, c.x, back.Interface())
			_, err = l.Read(bytes.NewReader([]byte(c.want)[1:]), back.UnsafePointer(), 2)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}
		SameOrder = before
	}
	l, _ := Of(reflect.Bool)
	var x bool
	_, err := l.Read(bytes.NewReader([]byte{2}), unsafe.Pointer(&x), 1)
	require.ErrorIs(t, err, ErrCorrupt)
}

// The first length is what may be allocated on the word of a file, the last one all.
func TestGrowing(t *testing.T) {
	for n, size := range map[int]int{0: 8, 1: 8, 1000: 0, math.MaxInt: 0, 10 * Trusted: 8, 5: 2 * Trusted} {
		done, last := 0, -1
		for from, next := range Growing(n, size) {
			require.Equal(t, done, from)
			require.True(t, size == 0 || next*size <= max(size, Trusted, 4*from*size))
			done, last = next, next
		}
		require.Equal(t, n, last)
	}
}
