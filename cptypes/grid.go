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

func (g gridPlaces[T]) gather(dst []T, at int) {
	row, col := at/g.cols, at%g.cols
	if col > 0 {
		n := min(len(dst), g.cols-col)
		g.gatherRow(dst[:n], row, col)
		dst = dst[n:]
		row++
	}
	full := len(dst) / g.cols
	g.gatherRows(dst[:full*g.cols], row, full)
	if dst = dst[full*g.cols:]; len(dst) > 0 {
		g.gatherRow(dst, row+full, 0)
	}
}

// gatherRow copies part of a row, from column col on.
func (g gridPlaces[T]) gatherRow(dst []T, row, col int) {
	src := g.data[g.first+row*g.rowStep+col*g.colStep:]
	if g.colStep == 1 {
		copy(dst, src)
		return
	}
	for j := range dst {
		dst[j] = src[j*g.colStep]
	}
}

func (g gridPlaces[T]) gatherRows(dst []T, row, rows int) {
	if rows == 0 {
		return
	}
	src := g.data[g.first+row*g.rowStep:]
	switch {
	case g.contiguous():
		copy(dst, src)
	case g.cols == 1:
		for i := range dst {
			dst[i] = src[i*g.rowStep]
		}
	case g.transposed():
		for j := range g.cols {
			to := dst[j:]
			for i, x := range src[j*g.colStep:][:rows] {
				to[i*g.cols] = x
			}
		}
	case g.colStep == 1 && g.cols <= shortRun:
		for i := range rows {
			from := src[i*g.rowStep:][:g.cols]
			//lint:ignore S1001 see shortRun
			for j, x := range from {
				dst[j] = x
			}
			dst = dst[g.cols:]
		}
	case g.colStep == 1:
		for i := range rows {
			copy(dst[:g.cols], src[i*g.rowStep:])
			dst = dst[g.cols:]
		}
	default:
		for i := range rows {
			g.gatherRow(dst[i*g.cols:][:g.cols], row+i, 0)
		}
	}
}

func (g gridPlaces[T]) scatter(src []T, at int) {
	row, col := at/g.cols, at%g.cols
	if col > 0 {
		n := min(len(src), g.cols-col)
		g.scatterRow(src[:n], row, col)
		src = src[n:]
		row++
	}
	full := len(src) / g.cols
	g.scatterRows(src[:full*g.cols], row, full)
	if src = src[full*g.cols:]; len(src) > 0 {
		g.scatterRow(src, row+full, 0)
	}
}

func (g gridPlaces[T]) scatterRow(src []T, row, col int) {
	dst := g.data[g.first+row*g.rowStep+col*g.colStep:]
	if g.colStep == 1 {
		copy(dst, src)
		return
	}
	for j, x := range src {
		dst[j*g.colStep] = x
	}
}

func (g gridPlaces[T]) scatterRows(src []T, row, rows int) {
	if rows == 0 {
		return
	}
	dst := g.data[g.first+row*g.rowStep:]
	switch {
	case g.contiguous():
		copy(dst, src)
	case g.cols == 1:
		for i, x := range src {
			dst[i*g.rowStep] = x
		}
	case g.transposed():
		for j := range g.cols {
			from, to := src[j:], dst[j*g.colStep:][:rows]
			for i := range to {
				to[i] = from[i*g.cols]
			}
		}
	case g.colStep == 1 && g.cols <= shortRun:
		for i := range rows {
			to := dst[i*g.rowStep:][:g.cols]
			for j := range to {
				to[j] = src[j]
			}
			src = src[g.cols:]
		}
	case g.colStep == 1:
		for i := range rows {
			copy(dst[i*g.rowStep:], src[:g.cols])
			src = src[g.cols:]
		}
	default:
		for i := range rows {
			g.scatterRow(src[i*g.cols:][:g.cols], row+i, 0)
		}
	}
}
