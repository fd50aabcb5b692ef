package cptypes

import (
	"reflect"
	"slices"
	"unsafe"
)

// matrix is one of gonum, in a struct.
type matrix interface {
	Value
	placed
	// agrees reports whether other, of the same type and shape, has the same elements
	// where those of the matrix lie in one of the regions.
	agrees(other Value, in []region) bool
}

// separates reads a matrix into memory of its own, if what is stored of it is not what
// has been read into the same memory, or if that is another value's. Otherwise the
// result is not valid, and it may be read where it is.
func (d *decoder) separates(m matrix, o *op, b []byte) (separate reflect.Value, err error) {
	var mine spots
	m.spots(&mine)
	own, shared := true, false
	for _, s := range mine.list {
		own = own && !overlap(d.avoid, s.region)
		shared = shared || overlap(d.used, s.region) || overlap(d.taken, s.region)
	}
	if shared {
		fresh := reflect.New(o.typ)
		if err := o.blob.get(fresh.Interface(), b); err != nil {
			return reflect.Value{}, err
		}
		stored := gonumOf(fresh.Interface())
		if have, is := DescOf(m), DescOf(stored); have.Type == is.Type && slices.Equal(have.Shape, is.Shape) &&
			(!own || !m.agrees(stored, slices.Concat(d.used, d.taken))) {
			return fresh.Elem(), nil
		}
	}
	for _, s := range mine.list {
		d.taken = append(d.taken, s.region)
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
			lo, hi := max(r.from, from), min(r.to, from+uintptr(len(run))*size)
			if lo >= hi {
				continue
			}
			here := run[(lo-from)/size : (hi-from+size-1)/size]
			there := make([]T, len(here))
			theirs.gather(there, at+int((lo-from)/size))
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

// clearBlobs makes those variables zero that have code of their own.
func (pr *program) clearBlobs(p unsafe.Pointer) {
	for i := range pr.code {
		switch o := &pr.code[i]; o.kind {
		case opBlob:
			reflect.NewAt(o.typ, unsafe.Add(p, o.off)).Elem().SetZero()
		case opArray:
			for k := range o.size {
				o.sub.clearBlobs(unsafe.Add(p, o.off+uintptr(k)*o.sub.typ.Size()))
			}
		}
	}
}
