package replica

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhichVersionThereIs: the newest one that is whole on all who have met before. A rank that has been told of a
// version may have failed since, and all others not know more than that they have their part of it.
func TestWhichVersionThereIs(t *testing.T) {
	type rank struct{ met, current, next, steps int64 }
	for name, one := range map[string]struct {
		ranks   []rank
		number  uint64
		from    int
		differs bool
	}{
		"nothing was submitted":                 {[]rank{{1, 0, 0, 0}, {1, 0, 0, 0}}, 0, -1, false},
		"all know":                              {[]rank{{1, 2, 0, 0}, {1, 2, 0, 0}}, 2, 0, false},
		"one was told":                          {[]rank{{1, 1, 2, 0}, {1, 2, 0, 0}, {1, 1, 2, 0}}, 2, 0, false},
		"who was told has failed":               {[]rank{{1, 1, 2, 0}, {1, 1, 2, 0}}, 2, 0, false},
		"the first one, told has failed":        {[]rank{{1, 0, 1, 0}, {1, 0, 1, 0}}, 1, 0, false},
		"it is not whole on one":                {[]rank{{1, 1, 2, 0}, {1, 1, 0, 0}}, 1, 0, false},
		"the first one is not whole":            {[]rank{{1, 0, 1, 0}, {1, 0, 0, 0}}, 0, -1, false},
		"one is new":                            {[]rank{{0, 0, 0, 0}, {1, 1, 2, 0}}, 2, 1, true},
		"all are new":                           {[]rank{{0, 0, 0, 0}, {0, 0, 0, 0}}, 0, -1, false},
		"one knows more of what has failed":     {[]rank{{1, 3, 0, 1}, {1, 3, 0, 2}, {1, 3, 0, 2}}, 3, 1, true},
		"one that is not settled knows nothing": {[]rank{{1, 1, 2, 5}, {1, 2, 0, 1}}, 2, 1, true},
	} {
		m := make(meeting, len(one.ranks))
		for r, told := range one.ranks {
			m[r] = make([]int64, introductions)
			m[r][introMet], m[r][introCurrent], m[r][introNext], m[r][introSteps] = told.met, told.current, told.next, told.steps
		}
		number, from := m.newest()
		require.Equal(t, one.number, number, name)
		require.Equal(t, one.from, from, name)
		if number > 0 {
			require.Equal(t, one.differs, m.differ(number, from), name)
		}
	}
}
