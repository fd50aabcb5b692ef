package cptypes

import "fmt"

// rowsPlane is a matrix with a slice for each row.
type rowsPlane[T Elem] struct {
	data *[][]T
	what string
}

func (p *rowsPlane[T]) shape() (rows, cols int, err error) {
	all := *p.data
	if len(all) == 0 {
		return 0, 0, fmt.Errorf("cptypes: %w: %s needs rows to choose columns of, there are none", ErrLength, p.what)
	}
	cols = len(all[0])
	for i, row := range all {
		if len(row) != cols {
			return 0, 0, fmt.Errorf("cptypes: %w: %s needs rows of equal length, row 0 has %d elements, row %d has %d",
				ErrLength, p.what, cols, i, len(row))
		}
	}
	return len(all), cols, nil
}

func (p *rowsPlane[T]) known() (rows, cols int) { return -1, -1 }

func (p *rowsPlane[T]) typeName() string { return "[]" + sliceType[T]() }

// room leaves the rows alone: how long they are to be is not stored.
func (p *rowsPlane[T]) room(stored, have Desc) error { return nil }

func (p *rowsPlane[T]) columns(c columnRun) places[T] { return rowsPlaces[T]{*p.data, c} }

// rowsPlaces are the places of some columns in all rows.
type rowsPlaces[T Elem] struct {
	rows [][]T
	columnRun
}

func (p rowsPlaces[T]) elems() int { return len(p.rows) * p.count }

func (p rowsPlaces[T]) unit() int { return 1 }

func (p rowsPlaces[T]) run() int {
	if p.step != 1 {
		return min(1, p.count)
	}
	return p.count
}

func (p rowsPlaces[T]) eachRun(yield func([]T) error) error {
	if p.count == 0 {
		return nil
	}
	n := p.run()
	for _, row := range p.rows {
		for j := 0; j < p.count; j += n {
			at := p.first + j*p.step
			if err := yield(row[at : at+n]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p rowsPlaces[T]) gather(dst []T, at int) {
	if p.count == 1 {
		for i, row := range p.rows[at:][:len(dst)] {
			dst[i] = row[p.first]
		}
		return
	}
	for i, j := at/p.count, at%p.count; len(dst) > 0; i, j = i+1, 0 {
		n := min(len(dst), p.count-j)
		row := p.rows[i][p.first+j*p.step:]
		if p.step == 1 {
			copy(dst[:n], row)
		} else {
			for k := range dst[:n] {
				dst[k] = row[k*p.step]
			}
		}
		dst = dst[n:]
	}
}

func (p rowsPlaces[T]) scatter(src []T, at int) {
	if p.count == 1 {
		for i, row := range p.rows[at:][:len(src)] {
			row[p.first] = src[i]
		}
		return
	}
	for i, j := at/p.count, at%p.count; len(src) > 0; i, j = i+1, 0 {
		n := min(len(src), p.count-j)
		row := p.rows[i][p.first+j*p.step:]
		if p.step == 1 {
			copy(row, src[:n])
		} else {
			for k, x := range src[:n] {
				row[k*p.step] = x
			}
		}
		src = src[n:]
	}
}
