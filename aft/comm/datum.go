package comm

import "unsafe"

// Integer are the element types with bit operations.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Real are the element types with an order.
type Real interface {
	Integer | ~float32 | ~float64
}

// Number are the element types with sums and products.
type Number interface {
	Real | ~complex64 | ~complex128
}

// Datum are the element types of messages: fixed size, no pointers.
type Datum interface {
	Number | ~bool
}

func sizeOf[T Datum]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// bytesOf is the memory of s.
func bytesOf[T Datum](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*sizeOf[T]())
}
