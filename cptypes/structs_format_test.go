package cptypes_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoldenCustoms(t *testing.T) {
	type customs struct {
		Addr  netip.Addr
		Big   *big.Int
		Own   itself
		Empty *struct{}
		Ints  map[int]int
	}
	x := customs{netip.MustParseAddr("1.2.3.4"), big.NewInt(-5), itself{"ab"}, nil, map[int]int{256: 1, -1: 2, 1: 3}}
	type16 := "cptypes_test.itself"
	want := slices.Concat(unhex(t, "8b 43 53 01  65  09  14 05  04"), []byte("Addr"), unhex(t, "01 03"), []byte("Big"), unhex(t, "02 03"),
		[]byte("Own"), unhex(t, "04 05"), []byte("Empty"), unhex(t, "05 04"), []byte("Ints"), unhex(t, "07"),
		unhex(t, "10 11"), []byte("binary netip.Addr"), unhex(t, "11 03  10 0b"), []byte("gob big.Int"),
		unhex(t, "10 19"), []byte("value "+type16), unhex(t, "11 06  14 00  15 08 08  05"),
		unhex(t, "04 01 02 03 04   01 02 03 05"),
		unhex(t, "18  00 00 13"), []byte(type16), []byte("ab"), unhex(t, "00"),
		unhex(t, "04  00 01 00 00 00 00 00 00  01 00 00 00 00 00 00 00  ff ff ff ff ff ff ff ff"),
		unhex(t, "01 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00"))
	require.Equal(t, want, bytesOf(t, &x))
}

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	require.NoError(t, err)
	return b
}

// Large parts are read and written past the buffer, and grow with what is there.
func TestHugeParts(t *testing.T) {
	type parts struct {
		Text string
		Raw  []byte
		Big  [300000]uint8
		Odd  [40000]struct {
			A bool
			B int32
		}
		Items []particle
		Nums  [][]float64
		Blob  marshals
		Last  int
	}
	rng := rand.New(rand.NewPCG(1, 1))
	in := &parts{Text: strings.Repeat("x", 3<<20), Raw: make([]byte, 5<<20), Items: make([]particle, 100000),
		Nums: [][]float64{make([]float64, 500000), nil, make([]float64, 7)}, Blob: marshals{b: make([]byte, 2<<20)}, Last: 1}
	for i := range in.Raw {
		in.Raw[i] = byte(rng.Uint32())
	}
	for i := range in.Items {
		in.Items[i] = particle{ID: int64(i), Name: fmt.Sprint(i)}
	}
	for i := range in.Odd {
		in.Odd[i].A, in.Odd[i].B = i%2 == 0, int32(i)
	}
	in.Nums[0][1] = math.Pi
	b := bytesOf(t, in)
	out := new(parts)
	load(t, b, out)
	out.Blob.updates = in.Blob.updates
	require.Equal(t, 1, in.Blob.updates, "Update is called for what is inside")
	require.True(t, bytes.Equal(in.Raw, out.Raw) && in.Text == out.Text)
	require.Equal(t, in, out)
}
