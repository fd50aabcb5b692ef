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
func (p *rowsPlane[T]) typeName() string        { return "[]" + sliceType[T]() }

// room leaves the rows alone: how long they are to be is not stored.
func (p *rowsPlane[T]) room(stored, have Desc) error  { return nil }
func (p *rowsPlane[T]) columns(c columnRun) places[T] { return rowsPlaces[T]{*p.data, c} }

// rowsPlaces are the places of some columns in all rows.
type rowsPlaces[T Elem] struct {
	rows [][]T
	columnRun
}

func (p rowsPlaces[T]) elems() int { return len(p.rows) * p.count }
func (p rowsPlaces[T]) unit() int  { return 1 }

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

func (p rowsPlaces[T]) move(buf []T, at int, back bool) {
	if p.count == 1 {
		for i, row := range p.rows[at:][:len(buf)] {
			if back {
				row[p.first] = buf[i]
			} else {
				buf[i] = row[p.first]
			}
		}
		return
	}
	for i, j := at/p.count, at%p.count; len(buf) > 0; i, j = i+1, 0 {
		n := min(len(buf), p.count-j)
		dst, src := lines[T]{buf, 0, 1}, lines[T]{p.rows[i][p.first+j*p.step:], 0, p.step}
		if back {
			dst, src = src, dst
		}
		copyLines(dst, src, 1, n)
		buf = buf[n:]
	}
}
