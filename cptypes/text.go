package cptypes

import (
	"fmt"
	"io"
	"reflect"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/element"
	"github.com/craft-go/craft/storage/container"
)

// text is a string. It has no Spans: the memory of a string must not change,
// and may be read-only.
type text struct {
	s    *string
	name string // Go type
	want int64  // length to read, set by Resize; negative: all there is
}

var _ measured = (*text)(nil)

func newText(ptr reflect.Value) Value {
	return &text{s: (*string)(ptr.UnsafePointer()), name: ptr.Type().Elem().String(), want: -1}
}

func (v *text) Describe() Desc {
	return Desc{Elem: container.String, Shape: []int64{int64(len(*v.s))}, Type: v.name}
}

func (v *text) Size() int64                        { return int64(len(*v.s)) }
func (v *text) WriteTo(w io.Writer) (int64, error) { return writeString(w, *v.s) }

// Resize only notes the length: a string is made when its bytes are read.
func (v *text) Resize(stored Desc) error {
	have := v.Describe()
	if err := sameKind(stored, have); err != nil {
		return err
	}
	if stored.Shape[0] < 0 || !fits(stored.Shape[0], byteLayout) {
		return mismatch(stored, have, "so many bytes do not fit into the address space")
	}
	v.want = stored.Shape[0]
	return nil
}

func (v *text) ReadFrom(r io.Reader) (int64, error) {
	if v.want < 0 {
		b, err := io.ReadAll(r)
		if err != nil {
			return int64(len(b)), fmt.Errorf("cptypes: read a string: %w", err)
		}
		*v.s = string(b)
		return int64(len(b)), nil
	}
	src := &watched{r: r}
	s, err := readString(src, int(v.want))
	if err != nil {
		return src.n, err
	}
	*v.s, v.want = s, -1
	return src.n, nil
}

// byteLayout is that of the bytes of strings.
var byteLayout = elemLayout[uint8]()

func writeString(w io.Writer, s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	// No copy, however long the string: a Writer must not modify what it gets.
	n, err := w.Write(unsafe.Slice(unsafe.StringData(s), len(s)))
	return int64(n), err
}

func readString(r io.Reader, n int) (string, error) {
	var b []byte
	for done, next := range element.Growing(n, 1) {
		b = append(make([]byte, 0, next), b...)[:next]
		k, err := io.ReadFull(r, b[done:])
		if err != nil {
			return "", element.Short(err, int64(done+k), int64(n))
		}
	}
	return unsafe.String(unsafe.SliceData(b), n), nil
}
