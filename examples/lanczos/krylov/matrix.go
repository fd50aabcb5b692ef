package krylov

// Matrix gives the rows of a square symmetric matrix, one at a time. A rank
// asks only for rows of its own range.
type Matrix interface {
	// Rows is the number of rows, and of columns, of the whole matrix.
	Rows() int64
	// Entries is the number of entries of the whole matrix; an estimate will do.
	Entries() int64
	// Row calls put for each entry of a row, in ascending order of the columns.
	// A column appears once.
	Row(row int64, put func(column int64, value float64))
}
