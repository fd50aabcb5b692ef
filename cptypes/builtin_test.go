package cptypes_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
)

type (
	kelvin  float64
	flag    bool
	label   string
	counter int
)

// randomise fills v, and everything in it, with random bit patterns (NaNs
// among them) and slices with random lengths; uniform rows in half of all
// cases.
func randomise(v reflect.Value, rng *rand.Rand) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 1)
	case reflect.String:
		b := make([]byte, rng.IntN(20))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		v.SetString(string(b))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(randomFloat(rng))
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(complex(randomFloat(rng), randomFloat(rng)))
	case reflect.Array:
		for i := range v.Len() {
			randomise(v.Index(i), rng)
		}
	case reflect.Slice:
		n := rng.IntN(12)
		v.Set(reflect.MakeSlice(v.Type(), n, n+rng.IntN(3)))
		uniform, columns := rng.IntN(2) == 0, rng.IntN(5)
		for i := range n {
			randomise(v.Index(i), rng)
			if v.Type().Elem().Kind() == reflect.Slice && uniform {
				row := reflect.MakeSlice(v.Type().Elem(), columns, columns)
				for j := range columns {
					randomise(row.Index(j), rng)
				}
				v.Index(i).Set(row)
			}
		}
	default:
		if v.CanInt() {
			v.SetInt(int64(rng.Uint64()) >> (64 - v.Type().Bits()))
		} else {
			v.SetUint(rng.Uint64() >> (64 - v.Type().Bits()))
		}
	}
}

func randomFloat(rng *rand.Rand) float64 {
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64}
	if i := rng.IntN(20); i < len(special) {
		return special[i]
	}
	return rng.NormFloat64()
}

// same compares bit by bit; nil and empty are the same.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Array, reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Float32, reflect.Float64:
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	case reflect.Complex64, reflect.Complex128:
		x, y := a.Complex(), b.Complex()
		return math.Float64bits(real(x)) == math.Float64bits(real(y)) &&
			math.Float64bits(imag(x)) == math.Float64bits(imag(y))
	}
	return a.Equal(b)
}

func builtinCase[T any]() cptypestest.Case[T] {
	return cptypestest.Case[T]{
		Fill:  func(v *T, rng *rand.Rand) { randomise(reflect.ValueOf(v).Elem(), rng) },
		Equal: func(a, b *T) bool { return same(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()) },
	}
}

func builtin[T any](name string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Run(name, func(t *testing.T) { cptypestest.Run(t, builtinCase[T]()) })
		t.Run(name+"/converted", func(t *testing.T) {
			cptypes.ConvertAlways(t)
			cptypestest.Run(t, builtinCase[T]())
		})
		t.Run(name+"/replicated", func(t *testing.T) {
			c := builtinCase[T]()
			c.Value = func(v *T) any { return cptypes.Replicated(v) }
			cptypestest.Run(t, c)
		})
	}
}

func TestBuiltinTypes(t *testing.T) {
	for _, run := range []func(*testing.T){
		builtin[int]("int"), builtin[int8]("int8"), builtin[int16]("int16"), builtin[int32]("int32"), builtin[int64]("int64"),
		builtin[uint]("uint"), builtin[uint8]("uint8"), builtin[uint16]("uint16"), builtin[uint32]("uint32"),
		builtin[uint64]("uint64"), builtin[uintptr]("uintptr"),
		builtin[float32]("float32"), builtin[float64]("float64"),
		builtin[complex64]("complex64"), builtin[complex128]("complex128"),
		builtin[bool]("bool"), builtin[string]("string"),
		builtin[kelvin]("kelvin"), builtin[flag]("flag"), builtin[label]("label"), builtin[counter]("counter"),

		builtin[[3]float64]("[3]float64"), builtin[[0]int]("[0]int"), builtin[[2][3]int16]("[2][3]int16"),
		builtin[[4]bool]("[4]bool"), builtin[[3]string]("[3]string"), builtin[[0]string]("[0]string"),
		builtin[[2][2][2]complex64]("[2][2][2]complex64"),

		builtin[[]int]("[]int"), builtin[[]byte]("[]byte"), builtin[[]int16]("[]int16"), builtin[[]uint32]("[]uint32"),
		builtin[[]float64]("[]float64"), builtin[[]complex128]("[]complex128"), builtin[[]bool]("[]bool"),
		builtin[[]kelvin]("[]kelvin"), builtin[[]flag]("[]flag"), builtin[[][3]float32]("[][3]float32"),
		builtin[[][2]bool]("[][2]bool"), builtin[[][0]int]("[][0]int"),
		builtin[[]string]("[]string"), builtin[[]label]("[]label"),

		builtin[[][]float64]("[][]float64"), builtin[[][]byte]("[][]byte"), builtin[[][]bool]("[][]bool"),
		builtin[[][]kelvin]("[][]kelvin"), builtin[[][]complex64]("[][]complex64"), builtin[[][]int]("[][]int"),
	} {
		run(t)
	}
}

// The converted form is what a machine with another byte order writes: it must
// be the same bytes.
func TestConvertedBytesAreTheSame(t *testing.T) {
	var (
		i  = []int{0, -1, math.MaxInt, math.MinInt}
		c  = []complex64{complex(1, 2), complex(-3, 0.5)}
		f  = make([]float32, 50_000) // several conversion buffers
		m  = [][]int16{{1, -2}, {3, -4}}
		b  = [2]bool{true, false}
		rg = [][]uint32{{1}, {}, {2, 3}}
	)
	for k := range f {
		f[k] = float32(k) * 0.25
	}
	for _, v := range []any{&i, &c, &f, &m, &b, &rg} {
		value, err := cptypes.Of(v)
		require.NoError(t, err)
		var plain, converted bytes.Buffer
		_, err = value.WriteTo(&plain)
		require.NoError(t, err)
		t.Run("", func(t *testing.T) {
			cptypes.ConvertAlways(t)
			_, err := value.WriteTo(&converted)
			require.NoError(t, err)
			if s, ok := value.(cptypes.Spanner); ok {
				_, ok = s.Spans()
				require.False(t, ok)
			}
		})
		require.True(t, bytes.Equal(plain.Bytes(), converted.Bytes()), "%T", v)
	}
	// And it is little-endian.
	var buf bytes.Buffer
	value, err := cptypes.Of(&c)
	require.NoError(t, err)
	_, err = value.WriteTo(&buf)
	require.NoError(t, err)
	require.Equal(t, math.Float32bits(-3), binary.LittleEndian.Uint32(buf.Bytes()[8:]))
}
