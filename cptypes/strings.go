package cptypes

import (
	"io"
	"reflect"
	"unsafe"

	"github.com/craft-go/craft/storage/container"
)

// texts is a slice or an array of strings, stored as opaque: lengths, then all
// bytes.
type texts struct {
	slice *[]string // nil for an array
	array []string  // the array's memory
}

var _ measured = (*texts)(nil)

// newTexts takes a pointer to a slice or an array of strings.
func newTexts(ptr reflect.Value) Value {
	if ptr.Type().Elem().Kind() == reflect.Slice {
		return &texts{slice: (*[]string)(ptr.UnsafePointer())}
	}
	return &texts{array: unsafe.Slice((*string)(ptr.UnsafePointer()), ptr.Elem().Len())}
}

func (v *texts) get() []string {
	if v.slice != nil {
		return *v.slice
	}
	return v.array
}

func (v *texts) Describe() Desc { return Desc{Elem: container.Opaque, Type: "[]string"} }

func (v *texts) Size() int64 {
	n := lengthsBytes(len(v.get()))
	for _, s := range v.get() {
		n += int64(len(s))
	}
	return n
}

// Resize checks the type only: how many strings there are is stored with them.
func (v *texts) Resize(stored Desc) error { return sameKind(stored, v.Describe()) }

func (v *texts) WriteTo(w io.Writer) (int64, error) {
	all := v.get()
	out := &counted{w: w}
	if err := writeLengths(out, len(all), func(i int) int { return len(all[i]) }); err != nil {
		return out.n, err
	}
	for _, s := range all {
		if _, err := writeString(out, s); err != nil {
			return out.n, err
		}
	}
	return out.n, nil
}

func (v *texts) ReadFrom(r io.Reader) (int64, error) {
	src := &watched{r: r}
	lengths, err := readLengths(src, byteLayout)
	if err != nil {
		return src.n, err
	}
	if v.slice == nil && len(lengths) != len(v.array) {
		return src.n, mismatch(v.Describe(), v.Describe(), "%d strings are stored and the array holds %d; a slice takes any number",
			len(lengths), len(v.array))
	}
	all := make([]string, len(lengths))
	for i, length := range lengths {
		if all[i], err = readString(src, length); err != nil {
			return src.n, err
		}
	}
	if v.slice == nil {
		copy(v.array, all)
		return src.n, nil
	}
	*v.slice = all
	return src.n, nil
}
