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

func (g gridPlaces[T]) move(buf []T, at int, d direction) {
	row, col := at/g.cols, at%g.cols
	if col > 0 {
		n := min(len(buf), g.cols-col)
		g.moveRow(buf[:n], row, col, d)
		buf = buf[n:]
		row++
	}
	full := len(buf) / g.cols
	g.moveRows(buf[:full*g.cols], row, full, d)
	if buf = buf[full*g.cols:]; len(buf) > 0 {
		g.moveRow(buf, row+full, 0, d)
	}
}

// moveRow moves part of a row, from column col on.
func (g gridPlaces[T]) moveRow(buf []T, row, col int, d direction) {
	moveLine(d, buf, 1, g.data[g.first+row*g.rowStep+col*g.colStep:], g.colStep, len(buf))
}

func (g gridPlaces[T]) moveRows(buf []T, row, rows int, d direction) {
	if rows == 0 {
		return
	}
	mem := g.data[g.first+row*g.rowStep:]
	switch {
	case g.contiguous():
		moveLine(d, buf, 1, mem, 1, len(buf))
	case g.cols == 1:
		moveLine(d, buf, 1, mem, g.rowStep, rows)
	case g.transposed():
		for j := range g.cols {
			moveLine(d, buf[j:], g.cols, mem[j*g.colStep:], 1, rows)
		}
	case g.colStep == 1:
		moveRuns(d, buf, mem, g.rowStep, g.cols)
	default:
		for i := range rows {
			moveLine(d, buf[i*g.cols:], 1, mem[i*g.rowStep:], g.colStep, g.cols)
		}
	}
}

// moveLine moves n elements, of which each has the same distance from the one before, in
// the buffer and in memory: one of these is 1.
func moveLine[T Elem](d direction, buf []T, bufStep int, mem []T, memStep, n int) {
	dst, dstStep, src, srcStep := buf, bufStep, mem, memStep
	if d == scatter {
		dst, dstStep, src, srcStep = mem, memStep, buf, bufStep
	}
	switch {
	case dstStep == 1 && srcStep == 1:
		copy(dst[:n], src[:n])
	case dstStep == 1:
		for i := range dst[:n] {
			dst[i] = src[i*srcStep]
		}
	default:
		for i, x := range src[:n] {
			dst[i*dstStep] = x
		}
	}
}

// moveRuns fills the buffer with runs of n neighbours, or empties it into them.
func moveRuns[T Elem](d direction, buf, mem []T, step, n int) {
	for at := 0; len(buf) > 0; at += step {
		dst, src := buf[:n], mem[at:][:n]
		if d == scatter {
			dst, src = src, dst
		}
		if n > shortRun {
			copy(dst, src)
		} else {
			for j, x := range src {
				dst[j] = x
			}
		}
		buf = buf[n:]
	}
}
