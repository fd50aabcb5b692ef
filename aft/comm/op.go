package comm

// Op combines two vectors of the same length: acc[i] = acc[i] op in[i]. It must
// be associative and commutative but for rounding, and must not keep the slices.
//
// The generic functions Sum, Prod, Min, Max, BitAnd, BitOr, BitXor, LogicalAnd
// and LogicalOr are Ops:
//
//	err := comm.Allreduce(ctx, c, local, global, comm.Sum)
type Op[T Datum] func(acc, in []T)

// Elementwise makes an Op of a function of two elements.
func Elementwise[T Datum](f func(a, b T) T) Op[T] {
	return func(acc, in []T) {
		for i, v := range in {
			acc[i] = f(acc[i], v)
		}
	}
}

// Sum adds. Four at a time: a loop of one addition is as fast as the place where the linker
// has put it allows, up to half as slow in one program as in another.
func Sum[T Number](acc, in []T) {
	for len(in) >= 4 {
		a, v := (*[4]T)(acc), (*[4]T)(in)
		a[0] += v[0]
		a[1] += v[1]
		a[2] += v[2]
		a[3] += v[3]
		acc, in = acc[4:], in[4:]
	}
	for i, v := range in {
		acc[i] += v
	}
}

// Prod multiplies.
func Prod[T Number](acc, in []T) {
	acc = acc[:len(in)]
	for i, v := range in {
		acc[i] *= v
	}
}

// Min takes the smaller value; a NaN stays a NaN.
func Min[T Real](acc, in []T) {
	acc = acc[:len(in)]
	for i, v := range in {
		acc[i] = min(acc[i], v)
	}
}

// Max takes the larger value; a NaN stays a NaN.
func Max[T Real](acc, in []T) {
	acc = acc[:len(in)]
	for i, v := range in {
		acc[i] = max(acc[i], v)
	}
}

// BitAnd is the bitwise and.
func BitAnd[T Integer](acc, in []T) {
	for i, v := range in {
		acc[i] &= v
	}
}

// BitOr is the bitwise or.
func BitOr[T Integer](acc, in []T) {
	for i, v := range in {
		acc[i] |= v
	}
}

// BitXor is the bitwise exclusive or.
func BitXor[T Integer](acc, in []T) {
	for i, v := range in {
		acc[i] ^= v
	}
}

// LogicalAnd reports whether all are true.
func LogicalAnd[T ~bool](acc, in []T) {
	for i, v := range in {
		acc[i] = acc[i] && v
	}
}

// LogicalOr reports whether any is true.
func LogicalOr[T ~bool](acc, in []T) {
	for i, v := range in {
		acc[i] = acc[i] || v
	}
}
