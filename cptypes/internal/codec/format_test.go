package codec

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The example of docs/file-format.md, on machines of both byte orders.
func TestGoldenBytes(t *testing.T) {
	type cell struct {
		ID   int32
		X    float64
		Name string
		Raw  []byte
		Next *cell
		Map  map[string]uint16
		When time.Time
		Ok   [2]bool
	}
	x := cell{
		ID: -2, X: 1.5, Name: "ab", Raw: []byte{7, 8}, Next: &cell{}, Map: map[string]uint16{"b": 2, "a": 1, "": 3},
		When: time.Date(1970, 1, 1, 0, 0, 1, 2, time.FixedZone("", -3600)), Ok: [2]bool{true, false},
	}
	want := unhex(t, `
		8b 43 53 01  3b
		0c
		14 08  02 49 44 01  01 58 02  04 4e 61 6d 65 03  03 52 61 77 04
		       04 4e 65 78 74 06  03 4d 61 70 07  04 57 68 65 6e 09  02 4f 6b 0a
		04
		0b
		0e
		12 05
		06
		11 00
		15 03 08
		07
		0f
		13 02 0b
		01
		fe ff ff ff
		00 00 00 00 00 00 f8 3f
		02 61 62
		03 07 08
		01
		   00 00 00 00  00 00 00 00 00 00 00 00  00  00  00  00
		   00 09 6e 88 f1 ff ff ff 00 00 00 00 00 00 00 80
		   00 00
		04  00  01 61  01 62  03 00  01 00  02 00
		11 0e 00 00 00 00 00 00 02 00 00 00 f0 f1 ff ff
		01 00`)
	for _, converted := range []bool{false, true} {
		if converted {
			convertAlways(t)
		}
		require.Equal(t, want, bytesOf(t, &x))
		var y cell
		load(t, want, &y)
		require.Equal(t, want, bytesOf(t, &y))
		require.Equal(t, x.Map, y.Map)
	}
}

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	require.NoError(t, err)
	return b
}

// Equal maps are stored as equal bytes, whatever the order in which they grew and
// shrank, whatever the way they are written, fast or by reflection.
func TestEqualMapsGiveEqualBytes(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := []int{0, 1, 3, 50, 300, 5000}[seed%6]
		texts, ints := make(map[string]int64), make(map[int64]string)
		for range n {
			key := strings.Repeat("k", rng.IntN(3)*rng.IntN(100)) + fmt.Sprint(rng.IntN(2*n)) + strings.Repeat("\x00", rng.IntN(4))
			texts[key] = rng.Int64()
			ints[rng.Int64N(1<<rng.IntN(62)+1)-1<<10] = key
		}
		copyOf := make(map[string]int64)
		keys := slices.Collect(maps.Keys(texts))
		rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for i, k := range keys {
			copyOf[fmt.Sprint("gone", i)] = 1
			copyOf[k] = texts[k]
		}
		for i := range keys {
			delete(copyOf, fmt.Sprint("gone", i))
		}
		want := bytesOf(t, &texts)
		require.Equal(t, want, bytesOf(t, &copyOf))
		requireSorted(t, texts, want)

		wantInts := bytesOf(t, &ints)
		t.Run("converted", func(t *testing.T) {
			convertAlways(t)
			require.Equal(t, want, bytesOf(t, &texts))
			require.Equal(t, wantInts, bytesOf(t, &ints))
			var back map[int64]string
			load(t, wantInts, &back)
			require.Equal(t, ints, back)
		})
		var back map[string]int64
		load(t, want, &back)
		require.Equal(t, texts, back)
	}
}

// requireSorted finds the keys in the stored bytes where they belong.
func requireSorted(t *testing.T, m map[string]int64, stored []byte) {
	var keys [][]byte
	for k := range m {
		keys = append(keys, append(uvarint(len(k)), k...))
	}
	slices.SortFunc(keys, bytes.Compare)
	all := slices.Concat(keys...)
	require.True(t, bytes.Equal(all, stored[len(stored)-8*len(m)-len(all):len(stored)-8*len(m)]))
}

func uvarint(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func TestNaNKeys(t *testing.T) {
	m := make(map[float64]int)
	for i := range 100 {
		m[math.NaN()] = i
	}
	want := bytesOf(t, &m)
	var back map[float64]int
	load(t, want, &back)
	require.Len(t, back, 100)
	require.Equal(t, want, bytesOf(t, &back))
}

func TestTimesInside(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for _, x := range []time.Time{
		{}, time.Unix(0, 0).UTC(), time.Unix(0, 0), time.Now(), time.Unix(1<<40, 999999999).In(berlin),
		time.Unix(-1<<60, 5).UTC(), time.Date(-44, 3, 15, 12, 0, 0, 0, time.FixedZone("", 49*60+56)),
	} {
		in := []time.Time{x, x}
		var out []time.Time
		load(t, bytesOf(t, &in), &out)
		for _, y := range out {
			require.True(t, x.Equal(y), "%v %v", x, y)
			_, want := x.Zone()
			_, have := y.Zone()
			require.Equal(t, want, have)
			require.Equal(t, x.Location() == time.UTC, y.Location() == time.UTC)
		}
	}
	var zero []time.Time
	load(t, bytesOf(t, &[]time.Time{{}}), &zero)
	require.Equal(t, []time.Time{{}}, zero)
}
