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

// Sum adds.
func Sum[T Number](acc, in []T) {
	acc = acc[:len(in)]
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
