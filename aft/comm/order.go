package comm

import "slices"

// Order is in which order a collective combines the values of the ranks. It is
// an optional last argument of the reductions; all ranks give the same.
type Order int

const (
	// RankOrder folds from rank 0 upwards: the result depends on nothing but the
	// values and the number of ranks. It is the default.
	RankOrder Order = iota
	// AnyOrder leaves the order to the algorithm, which needs fewer and shorter
	// messages then. The result is still the same bits on all ranks of a call,
	// but may differ in rounding from one version of this package, or one engine,
	// to the next.
	AnyOrder
)

// anyOrder reports whether the caller has asked for it.
func anyOrder(orders []Order) bool { return slices.Contains(orders, AnyOrder) }
