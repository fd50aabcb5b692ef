package cptypes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Contiguous is n neighbouring elements of a slice, first being the index of
// the first. Like all of Contiguous, Vector and Indexed it is stored as a
// one-dimensional array of the chosen elements, so that any of them, and a []T,
// can be read into any other with the same number of elements. (In MPI, too,
// only the sequence of elements counts.)
//
// The slice may be longer than needed; what is not chosen is neither stored nor
// touched. An empty slice is made when it is read. When a shorter one is
// written, that is an error that matches ErrLength. Wrong numbers are an error
// of Of that matches ErrBox.
func Contiguous[T Elem](data *[]T, first, n int) Value {
	return vector(data, first, 1, n, n, fmt.Sprintf("Contiguous(%d, %d)", first, n))
}

// Vector is count blocks of blocklen neighbouring elements of a slice. The first
// block starts at index first, each further one stride elements behind the one
// before. Blocks must not overlap: stride >= blocklen. See Contiguous; this is
// MPI_Type_vector.
func Vector[T Elem](data *[]T, first, count, blocklen, stride int) Value {
	return vector(data, first, count, blocklen, stride,
		fmt.Sprintf("Vector(%d, %d, %d, %d)", first, count, blocklen, stride))
}

func vector[T Elem](data *[]T, first, count, blocklen, stride int, what string) Value {
	l := elemLayout[T]()
	switch {
	case data == nil:
		return nilSlice[T](what)
	case first < 0 || count < 0 || blocklen < 0:
		return badLayout(what, "the first index, the number of blocks and their length must not be negative")
	case count > 1 && stride < blocklen:
		return badLayout(what, "blocks overlap: the stride must be at least %d, the length of a block", blocklen)
	}
	extent := 0
	if count > 0 && blocklen > 0 {
		var ok bool
		if extent, ok = addressable(l, first, count-1, stride, blocklen); !ok {
			return badLayout(what, "its last element is too far away to be addressed")
		}
	}
	g := grid{first: first, rows: count, cols: blocklen, rowStep: stride, colStep: 1}
	return newPicks(sliceVar[T]{data, extent, extent, what}, []int64{int64(count) * int64(blocklen)},
		func(data []T) places[T] { return gridPlaces[T]{data, g} })
}

// Indexed is blocks of neighbouring elements of a slice, block i being
// blocklens[i] elements from index displs[i] on. The blocks are stored in the
// order in which they are given; they must not overlap. See Contiguous; this is
// MPI_Type_indexed.
func Indexed[T Elem](data *[]T, blocklens, displs []int) Value {
	what := fmt.Sprintf("Indexed of %d blocks", len(displs))
	if data == nil {
		return nilSlice[T](what)
	}
	if len(blocklens) != len(displs) {
		return badLayout(what, "there must be as many lengths as displacements, not %d and %d", len(blocklens), len(displs))
	}
	x, extent := new(index), 0
	for i, start := range displs {
		n := blocklens[i]
		if start < 0 || n < 0 {
			return badLayout(what, "block %d: its length and displacement must not be negative, they are %d and %d", i, n, start)
		}
		if n == 0 {
			continue
		}
		end, ok := addressable(elemLayout[T](), start, 0, 0, n)
		if !ok {
			return badLayout(what, "block %d: elements %d to %d+%d cannot be addressed", i, start, start, n)
		}
		extent = max(extent, end)
	}
	// The blocks fit between 0 and extent: unless they overlap, so does their sum.
	if a, b, ok := overlapping(blocklens, displs); ok {
		return badLayout(what, "blocks %d and %d overlap: elements %d to %d and %d to %d (each element may be in one block only)",
			a, b, displs[a], displs[a]+blocklens[a]-1, displs[b], displs[b]+blocklens[b]-1)
	}
	for i, start := range displs {
		x.add(start, blocklens[i])
	}
	return newPicks(sliceVar[T]{data, extent, extent, what}, []int64{int64(x.elems())},
		func(data []T) places[T] { return indexPlaces[T]{data, x} })
}

// overlapping finds two blocks that have an element in common.
func overlapping(lens, starts []int) (a, b int, ok bool) {
	byStart := make([]int, 0, len(starts))
	for i, n := range lens {
		if n > 0 {
			byStart = append(byStart, i)
		}
	}
	slices.SortFunc(byStart, func(i, j int) int { return cmp.Compare(starts[i], starts[j]) })
	for k := 1; k < len(byStart); k++ {
		a, b = byStart[k-1], byStart[k]
		if starts[a]+lens[a] > starts[b] {
			return min(a, b), max(a, b), true
		}
	}
	return 0, 0, false
}

// addressable is first + n*step + length, none of them negative; not ok if so
// many elements cannot be addressed.
func addressable(l layout, first, n, step, length int) (extent int, ok bool) {
	limit := int(min(int64(math.MaxInt/l.Mem), math.MaxInt64/int64(l.Stored)))
	if n > 0 && step > (limit-1)/n {
		return 0, false
	}
	if extent = n * step; first > limit-extent {
		return 0, false
	}
	if extent += first; length > limit-extent {
		return 0, false
	}
	return extent + length, true
}

func nilSlice[T Elem](what string) Value {
	return &invalid{fmt.Errorf("cptypes: %w: %s of a nil *%s", ErrNil, what, sliceType[T]())}
}

func badLayout(what, format string, args ...any) Value {
	return &invalid{fmt.Errorf("cptypes: %w: %s: %s", ErrBox, what, fmt.Sprintf(format, args...))}
}
