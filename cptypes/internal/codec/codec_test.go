package codec

import (
	"bytes"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes/internal/element"
)

type (
	particle struct {
		ID      int64
		X, Y, Z float64
		Name    string
	}
	tree struct {
		Left, Right *tree
		Value       int
	}
	forest []forest
	// sealed is a type with code of its own.
	sealed struct{ text string }
)

func customs(t reflect.Type) (*Custom, error) {
	if t != reflect.TypeFor[sealed]() {
		return nil, nil
	}
	return &Custom{
		Name: "value codec.sealed",
		Put:  func(ptr any) ([]byte, error) { return []byte(ptr.(*sealed).text), nil },
		Get:  func(ptr any, b []byte, _ *Memory) error { ptr.(*sealed).text = string(b); return nil },
	}, nil
}

// codecOf returns the codec of what p points to, and where that is.
func codecOf(t testing.TB, p any) (*Codec, unsafe.Pointer) {
	t.Helper()
	v := reflect.ValueOf(p)
	c, err := New(v.Type().Elem(), v.Type().Elem().Name(), customs)
	require.NoError(t, err)
	return c, v.UnsafePointer()
}

func write(t testing.TB, p any) ([]byte, error) {
	t.Helper()
	var b bytes.Buffer
	c, at := codecOf(t, p)
	n, err := c.Write(&b, at)
	require.EqualValues(t, b.Len(), n)
	return b.Bytes(), err
}

func bytesOf(t testing.TB, p any) []byte {
	t.Helper()
	b, err := write(t, p)
	require.NoError(t, err)
	return b
}

func read(t testing.TB, b []byte, p any) error {
	t.Helper()
	c, at := codecOf(t, p)
	n, err := c.Read(bytes.NewReader(b), at, nil)
	require.LessOrEqual(t, n, int64(len(b)))
	return err
}

func load(t testing.TB, b []byte, p any) {
	t.Helper()
	require.NoError(t, read(t, b, p))
}

func ptr[T any](x T) *T { return &x }

// convertAlways makes the rest of a test take the path of a machine with another byte order.
func convertAlways(t testing.TB) {
	before := element.SameOrder
	element.SameOrder = false
	t.Cleanup(func() { element.SameOrder = before })
}
