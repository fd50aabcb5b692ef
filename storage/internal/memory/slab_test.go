package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRun: the shortest row that suffices, or else the longest.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		free            string // x: idle
		n, first, found int
	}{
		{"", 1, 0, 0},
		{"....", 2, 0, 0},
		{"xxxx", 2, 0, 2},
		{"xxxx.xx.x", 2, 5, 2},
		{"xxxx.xx.x", 1, 8, 1},
		{"xxxx.xx.x", 3, 0, 3},
		{"xx.xxx.x", 9, 3, 3},
		{".xx", 2, 1, 2},
	} {
		var s slab
		for _, one := range c.free {
			s.free = append(s.free, one == 'x')
		}
		first, found := s.run(c.n)
		require.Equal(t, [2]int{c.first, c.found}, [2]int{first, found}, "%d of %q", c.n, c.free)
	}
}

// TestUsesOfMemoryThatIsGivenBack: what has been used again does not make up for what is 0 already.
func TestUsesOfMemoryThatIsGivenBack(t *testing.T) {
	u := make(uses, 2)
	for i := range u {
		u[i].Store(1)
	}
	told := u.of(0, 2*extentSize)
	require.EqualValues(t, 2, told)
	for i := range u {
		u[i].Add(1)
	}
	u[0].Store(0) // release is as far as this
	require.Zero(t, u.of(0, 2*extentSize))
	require.EqualValues(t, 2, u.of(extentSize, extentSize))
}
