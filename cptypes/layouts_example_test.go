package cptypes_test

import (
	"bytes"
	"fmt"

	"github.com/craft-go/craft/cptypes"
)

// copyValue stands for a checkpoint and a restart.
func copyValue(from, to cptypes.Value) error {
	var file bytes.Buffer
	if _, err := from.WriteTo(&file); err != nil {
		return err
	}
	v, err := cptypes.Of(to)
	if err != nil {
		return err
	}
	if r, ok := v.(cptypes.Resizer); ok {
		if err := r.Resize(cptypes.DescOf(from)); err != nil {
			return err
		}
	}
	_, err = v.ReadFrom(&file)
	return err
}

// Of a matrix with many columns only two are worth storing.
func ExampleColumns() {
	old := [][]int{{1, 2, 3, 4}, {5, 6, 7, 8}}
	now := [][]int{{0, 0, 0, 0}, {0, 0, 0, 0}}
	err := copyValue(
		cptypes.Columns(&old, cptypes.ColumnRange(1, 3)),
		cptypes.Columns(&now, cptypes.ColumnRange(1, 3)))
	fmt.Println(now, err)

	err = copyValue(
		cptypes.Columns(&old, cptypes.Column(1)),
		cptypes.Columns(&now, cptypes.Column(3)))
	fmt.Println(err)
	// Output:
	// [[0 2 3 0] [0 6 7 0]] <nil>
	// cptypes: stored is int64[2x1], the program has int64[2x1]: the stored columns (first:end:step) are 1:2:1 of their matrix, those to be read into are 3:4:1; choose the same ones
}

// A matrix from Fortran is read by a program that keeps it row by row.
func ExampleMatrixLD() {
	columns := []float64{1, 4, 0, 2, 5, 0, 3, 6, 0}
	var rows []float64
	err := copyValue(
		cptypes.MatrixLD(&columns, 2, 3, 3, cptypes.ColumnMajor),
		cptypes.Matrix(&rows, 2, 3))
	fmt.Println(rows, err)
	// Output:
	// [1 2 3 4 5 6] <nil>
}

// The halo-free part of a field and the number of the step, as one value.
func ExampleBlocks() {
	field, step := []float32{9, 1, 2, 9, 9, 3, 4, 9}, 7
	v := cptypes.Blocks(cptypes.Vector(&field, 1, 2, 2, 4), &step)
	fmt.Println(cptypes.DescOf(v))

	var restored []float32
	var at int
	err := copyValue(v, cptypes.Blocks(cptypes.Contiguous(&restored, 0, 4), &at))
	fmt.Println(restored, at, err)
	// Output:
	// opaque blocks(float32,int64)
	// [1 2 3 4] 7 <nil>
}

func ExampleCSR() {
	m := cptypes.CSR[float64, int32]{
		Rows: 2, Cols: 3,
		RowPtr: []int32{0, 1, 3},
		ColIdx: []int32{2, 0, 1},
		Val:    []float64{0.5, 1, 2},
	}
	var restored cptypes.CSR[float64, int32]
	err := copyValue(&m, &restored)
	fmt.Println(restored, err)

	m.ColIdx[0] = 3
	fmt.Println(m.Check())
	// Output:
	// {2 3 [0 1 3] [2 0 1] [0.5 1 2]} <nil>
	// cptypes: invalid CSR matrix: element 0 is in column 3: want 0 <= column < 3
}
