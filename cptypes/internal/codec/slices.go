package codec

import (
	"math"
	"reflect"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/element"
)

const (
	reuseBytes   = 64 << 10 // slices of less get new memory
	reuseRegions = 64
)

// elements reads n elements into a slice. They are new variables: what is not
// stored of them is zero. The memory stays if the slice is large, has room, and
// no other slice that was read shares it.
func (d *decoder) elements(pr *program, t reflect.Type, into *sliceHeader, n int) error {
	size := int(pr.typ.Size())
	if size > 0 && (n > math.MaxInt/size || pr.fixed == 0 && n > element.Trusted/size) {
		return corruptf("%d elements", n)
	}
	if d.reusable(pr, into, n*size) {
		if err := d.rows(pr, into.data, n); err != nil {
			return err
		}
		into.len = n
		return nil
	}
	var s sliceHeader
	for done, next := range element.Growing(n, size) {
		s = enlarge(t, s, next)
		if err := d.rows(pr, unsafe.Add(s.data, done*size), next-done); err != nil {
			return err
		}
	}
	*into = s
	return nil
}

// reusable reports whether bytes of plain data can be read over the old contents.
func (d *decoder) reusable(pr *program, s *sliceHeader, bytes int) bool {
	size := int(pr.typ.Size())
	if bytes < reuseBytes || bytes/size > s.len || d.apart || d.reused >= reuseRegions || pr.plain() == nil {
		return false
	}
	r := Region{uintptr(s.data), uintptr(s.data) + uintptr(bytes)}
	if r.Meets(d.memory.Filled) {
		return false
	}
	d.memory.Filled = append(d.memory.Filled, r)
	d.reused++
	return true
}

// enlarge returns a slice of type t with n elements that begins like s.
func enlarge(t reflect.Type, s sliceHeader, n int) sliceHeader {
	v := reflect.MakeSlice(t, n, n)
	if s.len > 0 {
		reflect.Copy(v, reflect.NewAt(t, unsafe.Pointer(&s)).Elem())
	}
	return sliceHeader{v.UnsafePointer(), n, n}
}
