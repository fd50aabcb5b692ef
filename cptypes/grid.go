package cptypes

// grid is a regular choice of elements of a slice: rows of cols elements each,
// element (i, j) at first + i*rowStep + j*colStep. Stored in row-major order.
type grid struct {
	first            int
	rows, cols       int
	rowStep, colStep int
}

// shortRun: the call of copy takes longer than to move so few elements.
const shortRun = 8

// gridPlaces are the places of a grid in a slice that is long enough for it.
type gridPlaces[T Elem] struct {
	data []T
	grid
}

func (g gridPlaces[T]) elems() int { return g.rows * g.cols }

// transposed says that neighbours in memory are neighbours in a column.
func (g gridPlaces[T]) transposed() bool { return g.rowStep == 1 && g.cols > 1 && g.colStep != 1 }

func (g gridPlaces[T]) unit() int {
	if g.transposed() {
		return g.cols
	}
	return 1
}

func (g gridPlaces[T]) run() int {
	switch {
	case g.cols > 1 && g.colStep != 1:
		return 1
	case g.contiguous():
		return g.elems()
	}
	return g.cols
}

func (g gridPlaces[T]) contiguous() bool {
	return (g.cols <= 1 || g.colStep == 1) && (g.rows <= 1 || g.rowStep == g.cols)
}

func (g gridPlaces[T]) eachRun(yield func([]T) error) error {
	if g.elems() == 0 {
		return nil
	}
	if g.contiguous() {
		return yield(g.data[g.first : g.first+g.elems()])
	}
	n := g.run()
	for i := range g.rows {
		for j := 0; j < g.cols; j += n {
			at := g.first + i*g.rowStep + j*g.colStep
			if err := yield(g.data[at : at+n]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g gridPlaces[T]) move(buf []T, at int, back bool) {
	for row, col := at/g.cols, at%g.cols; len(buf) > 0; col = 0 {
		rows, cols := len(buf)/g.cols, g.cols
		if col > 0 || rows == 0 {
			rows, cols = 1, min(len(buf), g.cols-col)
		}
		packed := lines[T]{buf[:rows*cols], cols, 1}
		mem := lines[T]{g.data[g.first+row*g.rowStep+col*g.colStep:], g.rowStep, g.colStep}
		row, buf = row+rows, buf[rows*cols:]
		if cols == 1 || g.transposed() { // along the columns
			packed.next, packed.step, mem.next, mem.step = packed.step, packed.next, mem.step, mem.next
			rows, cols = cols, rows
		}
		if back {
			packed, mem = mem, packed
		}
		copyLines(packed, mem, rows, cols)
	}
}

// lines are elements at equal distances, line after line.
type lines[T Elem] struct {
	data       []T
	next, step int // from line to line, and from element to element
}

// copyLines copies n lines of some length. In dst or in src elements are neighbours.
func copyLines[T Elem](dst, src lines[T], n, length int) {
	switch {
	case dst.step == 1 && src.step == 1 && length > shortRun:
		for i := range n {
			copy(dst.data[i*dst.next:][:length], src.data[i*src.next:])
		}
	case dst.step == 1 && src.step == 1:
		copyShort(dst.data, dst.next, src.data, src.next, n, length)
	case src.step == 1:
		spread(dst, src, n, length)
	default:
		collect(dst, src, n, length)
	}
}

// The loops are functions of their own for the registers: inlined, they took up to twice as long.

//go:noinline
func copyShort[T Elem](dst []T, dstNext int, src []T, srcNext, n, length int) {
	for i := range n {
		from := src[i*srcNext:][:length]
		to := dst[i*dstNext:][:len(from)]
		//lint:ignore S1001 see shortRun
		for j, x := range from {
			to[j] = x
		}
	}
}

//go:noinline
func spread[T Elem](dst, src lines[T], n, length int) {
	for i := range n {
		to := dst.data[i*dst.next:]
		for j, x := range src.data[i*src.next:][:length] {
			to[j*dst.step] = x
		}
	}
}

//go:noinline
func collect[T Elem](dst, src lines[T], n, length int) {
	for i := range n {
		from := src.data[i*src.next:]
		to := dst.data[i*dst.next:][:length]
		for j := range to {
			to[j] = from[j*src.step]
		}
	}
}
