package storage

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/container"
)

// Names of files lie: one stray name neither outvotes the parts that are there nor
// makes anybody count to its number.
func TestPartsWhoseNamesLie(t *testing.T) {
	group := func(size int, without ...int) (out []Part) {
		for r := range size {
			if !slices.Contains(without, r) {
				out = append(out, Part{Rank: r, Size: size})
			}
		}
		return out
	}
	huge := Part{Rank: 0, Size: math.MaxInt32}
	for name, c := range map[string]struct {
		parts    []Part
		size     int
		complete bool
		missing  []int
		more     int
	}{
		"nothing":                     {},
		"whole":                       {parts: group(3), size: 3, complete: true},
		"not whole":                   {parts: group(5, 1, 3), size: 5, missing: []int{1, 3}},
		"a stray one":                 {parts: append(group(8), huge), size: 8, complete: true},
		"several":                     {parts: append(group(8), huge, Part{1, 9}, Part{0, 2}), size: 8, complete: true},
		"one rank, and a stray one":   {parts: append(group(1), huge), size: 1, complete: true},
		"a copy of a part as a whole": {parts: append(group(8), Part{0, 1}), size: 8, complete: true},
		"not whole, and a stray one":  {parts: append(group(8, 2), huge), size: 8, missing: []int{2}},
		"nothing but a stray one":     {parts: []Part{huge}, size: math.MaxInt32, missing: []int{1, 2, 3, 4}, more: math.MaxInt32 - 5},
	} {
		rand.Shuffle(len(c.parts), func(i, j int) { c.parts[i], c.parts[j] = c.parts[j], c.parts[i] })
		e := Entry{Parts: c.parts}
		require.Equal(t, c.size, e.Size(), name)
		require.Equal(t, c.complete, e.Complete(), name)
		missing, more := e.Missing(4)
		require.Equal(t, c.missing, missing, name)
		require.Equal(t, c.more, more, name)
		for _, p := range e.Group() {
			require.Equal(t, c.size, p.Size, name)
		}
	}
	require.Equal(t, "1, 3", Entry{Parts: group(5, 1, 3)}.MissingText())
	require.Regexp(t, `^1, 2, .* and 2147483614 more$`, Entry{Parts: []Part{huge}}.MissingText())
}

func TestOrigin(t *testing.T) {
	origin := ID{Version: 7, Attempt: container.AttemptID{1, 2, 3}}
	require.Equal(t, origin, Origin(container.Header{Fields: WithOrigin(nil, origin)}))
	require.Empty(t, WithOrigin(nil, ID{}))
	require.Zero(t, Origin(container.Header{Fields: container.Fields{{ID: container.FieldOrigin, Data: []byte("short")}}}))
}
