package cptypes_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/craft-go/craft/cptypes"
)

// What a program may add, and what is stored of it.
func Example() {
	var (
		iter   int
		field  = make([]float64, 6)
		grid   [2][3]float32
		params = struct {
			Dt   float64
			Name string
		}{0.1, "heat"}
	)
	for _, value := range []any{
		&iter, &field, &grid, &params,
		cptypes.Matrix(&field, 2, 3),
		cptypes.Replicated(&field),
		cptypes.Partitioned(&field, 6, 12, 24),
	} {
		v, err := cptypes.Of(value)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(cptypes.DescOf(v))
	}
	// Output:
	// int64
	// float64[6]
	// float32[2x3]
	// opaque struct { Dt float64; Name string } (described)
	// float64[2x3]
	// float64[6] replicated
	// float64[6] partitioned [6:12] of 24
}

func ExampleOf() {
	temperatures := []float64{20.5, 21, 19.75}
	v, err := cptypes.Of(&temperatures)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cptypes.DescOf(v))

	_, err = cptypes.Of(temperatures)
	fmt.Println(err)
	// Output:
	// float64[3]
	// cptypes: unsupported type []float64: give its address, a *[]float64, so that it can be read back
}

func ExamplePartitioned() {
	// Written by one rank that holds all of ten elements ...
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	old := cptypes.Partitioned(&all, 0, 10, 10)
	var file bytes.Buffer
	if _, err := old.WriteTo(&file); err != nil {
		fmt.Println(err)
		return
	}

	// ... and read by the second of three.
	var mine []int
	v, err := cptypes.Of(cptypes.Partitioned(&mine, 3, 6, 10))
	if err != nil {
		fmt.Println(err)
		return
	}
	stored := cptypes.DescOf(old)
	if err := v.(cptypes.Resizer).Resize(stored); err != nil {
		fmt.Println(err)
		return
	}
	if err := v.(cptypes.BoxReader).ReadBox(stored, bytes.NewReader(file.Bytes())); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cptypes.DescOf(v), mine)
	// Output:
	// int64[3] partitioned [3:6] of 10 [3 4 5]
}

// bigInt stores a *big.Int as its decimal digits.
type bigInt struct{ *big.Int }

func (v bigInt) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, v.Text(10))
	return int64(n), err
}

func (v bigInt) ReadFrom(r io.Reader) (int64, error) {
	digits, err := io.ReadAll(r)
	if err != nil {
		return int64(len(digits)), err
	}
	if _, ok := v.SetString(string(digits), 10); !ok {
		return int64(len(digits)), fmt.Errorf("not a number: %q", digits)
	}
	return int64(len(digits)), nil
}

func ExampleRegister() {
	err := cptypes.Register(func(v *big.Int) cptypes.Value { return bigInt{v} })
	if err != nil && !errors.Is(err, cptypes.ErrRegistered) {
		fmt.Println(err)
		return
	}

	// From now on a *big.Int can be added like a built-in type.
	factorial := new(big.Int).MulRange(1, 25)
	v, err := cptypes.Of(factorial)
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if _, err := v.WriteTo(&file); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(file.String())
	// Output:
	// 15511210043330985984000000
}
