package checkpoint

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

// separateAbsent are values that are not stored, over memory that cannot be moved.
func separateAbsent() map[string]alias {
	out := make(map[string]alias)
	array := [3]float64{7, 8, 9}
	views := struct {
		All  []float64
		Rows [][]float64
	}{array[:], [][]float64{array[1:]}}
	out["slices of an array in a struct that is not stored"] = alias{vars{"array": &[3]float64{1, 2, 3}}, vars{"array": &array, "views": &views}, func(t require.TestingT) {
		require.Equal(t, [3]float64{1, 2, 3}, array)
		require.Equal(t, []float64{7, 8, 9}, views.All)
		require.Equal(t, [][]float64{{8, 9}}, views.Rows)
	}}
	own := spanned{[]float64{7, 8}}
	behind := &struct{ X []float64 }{own.x}
	out["a slice of what has Spans behind a pointer that is not stored"] = alias{vars{"own": &spanned{[]float64{1, 2}}}, vars{"behind": &behind, "own": &own}, func(t require.TestingT) {
		require.Equal(t, []float64{1, 2}, own.x)
		require.Equal(t, []float64{7, 8}, behind.X)
	}}
	return out
}

// What cannot be put apart from a value that is read changes with it: both are named. One
// variable under two keys is meant to be one.
func TestValueThatChangesWithAnother(t *testing.T) {
	array := [2]int{7, 8}
	second := &array[1]
	own := spanned{[]float64{7, 8}}
	same := spanned{own.x}
	n := 7
	for name, c := range map[string]struct {
		alias
		warned bool
	}{
		"a pointer":    {alias{stored: vars{"array": &[2]int{1, 2}}, now: vars{"array": &array, "other": &second}}, true},
		"Spans":        {alias{stored: vars{"own": &spanned{[]float64{1, 2}}}, now: vars{"own": &own, "other": &same}}, true},
		"one variable": {alias{stored: vars{"old": ptr(1)}, now: vars{"old": &n, "other": &n}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			require.NoError(t, c.restart(t, "off", WithLogger(slog.New(slog.NewTextHandler(&log, nil)))))
			want := 0
			if c.warned {
				want = 1
				require.Contains(t, log.String(), "key=other")
			}
			require.Equal(t, want, bytes.Count(log.Bytes(), []byte("it changes with that")), log.String())
		})
	}
}
