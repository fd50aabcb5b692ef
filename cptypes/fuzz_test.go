package cptypes_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

// fuzzReadFrom feeds any bytes to types whose stored form has a structure. What
// is accepted must be what writing it again gives.
func fuzzReadFrom[T any](f *testing.F, seeds ...T) {
	ragged := cptypes.DescOf(of(f, &seeds[0]))
	for _, seed := range seeds {
		var buf bytes.Buffer
		_, err := of(f, &seed).WriteTo(&buf)
		require.NoError(f, err)
		f.Add(buf.Bytes())
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		x := reflect.New(reflect.TypeFor[T]())
		v := of(t, x.Interface())
		resizeTo(t, v, ragged)
		n, err := v.ReadFrom(bytes.NewReader(stored))
		require.LessOrEqual(t, n, int64(len(stored)))
		if err != nil {
			return
		}
		// Resize again: rows that turned out to be of equal length are to be
		// written in the form in which they were read.
		resizeTo(t, v, ragged)
		var buf bytes.Buffer
		_, err = v.WriteTo(&buf)
		require.NoError(t, err)
		require.True(t, bytes.Equal(stored[:n], buf.Bytes()))
	})
}

func FuzzStrings(f *testing.F) { fuzzReadFrom(f, []string{"a", "", "bcd"}, nil) }

func FuzzRaggedRows(f *testing.F) {
	fuzzReadFrom(f, [][]uint32{{1, 2}, {}, {3}}, [][]uint32{{}, {}})
}

func FuzzRaggedBools(f *testing.F) { fuzzReadFrom(f, [][]bool{{true, false}, {}, {true}}) }

// FuzzReadBox offers descriptions as a damaged file could hold them.
func FuzzReadBox(f *testing.F) {
	f.Add(int64(2), int64(5), int64(0), int64(4), int64(10), int64(4), []byte("0123456789ab"))
	f.Add(int64(-1), int64(1<<62), int64(1<<62), int64(0), int64(10), int64(4), []byte{})
	f.Fuzz(func(t *testing.T, lo0, hi0, lo1, hi1, n0, n1 int64, stored []byte) {
		data := make([]uint8, 6)
		own := cptypes.Box{Lo: []int64{3, 1}, Hi: []int64{6, 3}}
		v := cptypes.PartitionedBox(&data, own, []int64{10, 4})
		desc := cptypes.Desc{
			Elem:   container.Uint8,
			Dist:   container.Partitioned,
			Shape:  []int64{hi0 - lo0, hi1 - lo1},
			Global: []int64{n0, n1},
			Box:    cptypes.Box{Lo: []int64{lo0, lo1}, Hi: []int64{hi0, hi1}},
		}
		if v.(cptypes.Resizer).Resize(desc) != nil {
			require.Error(t, v.(cptypes.BoxReader).ReadBox(desc, bytes.NewReader(stored)))
			return
		}
		if v.(cptypes.BoxReader).ReadBox(desc, bytes.NewReader(stored)) != nil {
			return
		}
		each(own, func(index []int64, offset int) {
			if inside(index, desc.Box) {
				at := (index[0]-lo0)*(hi1-lo1) + index[1] - lo1
				require.Equal(t, stored[at], data[offset])
			}
		})
	})
}
