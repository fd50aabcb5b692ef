package cptypes

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// TestGridsAreMoved: any part of any grid comes from, and goes to, the places that its
// definition says, and no others.
func TestGridsAreMoved(t *testing.T) {
	random := testseed.Rand(t)
	for range 20000 {
		g := grid{first: random.IntN(4), rows: 1 + random.IntN(12), cols: 1 + random.IntN(12)}
		if random.IntN(2) == 0 { // by rows
			g.colStep = 1 + random.IntN(3)
			g.rowStep = g.cols*g.colStep + random.IntN(3)
		} else {
			g.rowStep = 1 + random.IntN(3)
			g.colStep = g.rows*g.rowStep + random.IntN(3)
		}
		data := make([]int, g.first+(g.rows-1)*g.rowStep+(g.cols-1)*g.colStep+1+random.IntN(3))
		for i := range data {
			data[i] = i
		}
		p := gridPlaces[int]{data, g}
		at := random.IntN(p.elems())
		buf := make([]int, 1+random.IntN(p.elems()-at))
		place := func(i int) int { return g.first + (at+i)/g.cols*g.rowStep + (at+i)%g.cols*g.colStep }
		p.move(buf, at, false)
		want := slices.Clone(data)
		for i := range buf {
			require.Equal(t, place(i), buf[i], "%+v from %d: element %d of %d", g, at, i, len(buf))
			buf[i], want[place(i)] = -1-i, -1-i
		}
		p.move(buf, at, true)
		require.Equal(t, want, data, "%+v from %d, %d elements back", g, at, len(buf))
	}
}
