package cptypes

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/codec"
)

// matrix is one of gonum, in a struct.
type matrix interface {
	Value
	placed
	// agrees reports whether other, of the same type and shape, has the same elements
	// where those of the matrix lie in one of the regions.
	agrees(other Value, in []region) bool
}

// separates reads the matrix at ptr into memory of its own, if what is stored of it is not
// what has been read into the same memory, or if that is another value's. Otherwise the
// result is not valid, and it may be read where it is.
func separates(m matrix, ptr any, b []byte, memory *codec.Memory) (separate reflect.Value, err error) {
	var mine locations
	m.locations(&mine)
	own, shared := true, false
	for _, s := range mine.list {
		own = own && !s.Meets(memory.Avoid)
		shared = shared || s.Meets(memory.Filled)
	}
	if shared {
		fresh := reflect.New(reflect.TypeOf(ptr).Elem())
		if err := getInPlace(fresh.Interface(), b); err != nil {
			return reflect.Value{}, err
		}
		stored := gonumOf(fresh.Interface())
		if have, is := DescOf(m), DescOf(stored); have.Type == is.Type && slices.Equal(have.Shape, is.Shape) &&
			(!own || !m.agrees(stored, memory.Filled)) {
			return fresh.Elem(), nil
		}
	}
	for _, s := range mine.list {
		memory.Filled = append(memory.Filled, s.region)
	}
	return reflect.Value{}, nil
}

func (v *gonumValue[M, T]) agrees(other Value, in []region) bool {
	mine, theirs := v.find(), other.(*gonumValue[M, T]).find()
	if mine == nil || theirs == nil {
		return true
	}
	at, same, size := 0, true, unsafe.Sizeof(*new(T))
	_ = mine.eachRun(func(run []T) error {
		from := uintptr(unsafe.Pointer(unsafe.SliceData(run)))
		for _, r := range in {
			lo, hi := max(r.From, from), min(r.To, from+uintptr(len(run))*size)
			if lo >= hi {
				continue
			}
			here := run[(lo-from)/size : (hi-from+size-1)/size]
			there := make([]T, len(here))
			theirs.move(there, at+int((lo-from)/size), false)
			same = same && string(memoryOf(here)) == string(memoryOf(there))
		}
		at += len(run)
		return nil
	})
	return same
}

func memoryOf[T any](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}
