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
	moved := []float64{1, 2, 3}
	stays := struct{ All, Tail, Buf []float64 }{moved, moved[2:], moved[1:1]}
	all := &moved[0]
	out["views of a slice in a struct that is not stored"] = alias{vars{"moved": &[]float64{4, 5, 6}}, vars{"moved": &moved, "stays": &stays}, func(t require.TestingT) {
		require.Equal(t, []float64{4, 5, 6}, moved)
		require.Equal(t, []float64{1, 2, 3}, stays.All)
		require.Same(t, all, &stays.All[0])
		require.Same(t, &stays.All[2], &stays.Tail[0])
		require.Same(t, &stays.All[1], &stays.Buf[:1][0])
	}}
	fixed := [3]float64{1, 2, 3}
	parts := struct{ All, Tail []float64 }{fixed[:2], fixed[2:]}
	out["views of an array in a struct that is not stored"] = alias{vars{"fixed": &[3]float64{4, 5, 6}}, vars{"fixed": &fixed, "parts": &parts}, func(t require.TestingT) {
		require.Equal(t, [3]float64{4, 5, 6}, fixed)
		require.Equal(t, []float64{3}, parts.Tail)
		require.Equal(t, []float64{1, 2, 3}, parts.All[:3])
		require.Same(t, &parts.All[:3][2], &parts.Tail[0])
	}}
	own := spanned{[]float64{7, 8}}
	behind := &struct{ X []float64 }{own.x}
	out["a slice of what has Spans behind a pointer that is not stored"] = alias{vars{"own": &spanned{[]float64{1, 2}}}, vars{"behind": &behind, "own": &own}, func(t require.TestingT) {
		require.Equal(t, []float64{1, 2}, own.x)
		require.Equal(t, []float64{7, 8}, behind.X)
	}}
	type node struct{ Large []float64 }
	n := node{ones(largeSlice)}
	to, seen := &n, n.Large
	out["a slice beside a pointer to the struct that holds it, both not stored"] = alias{vars{"n": &node{make([]float64, largeSlice)}}, vars{"n": &n, "seen": &seen, "to": &to}, func(t require.TestingT) {
		require.Zero(t, n.Large[0])
		require.Equal(t, 1.0, seen[0])
	}}
	return out
}

// Two values that share memory as when they were stored go on doing so: another one that
// is not stored leaves them.
func TestSharedBesideWhatIsNotStored(t *testing.T) {
	for _, mode := range modes {
		x0, x := []float64{4, 5, 6}, []float64{1, 2, 3}
		y := x
		s := struct{ All, Tail []float64 }{x, x[1:]}
		a := alias{stored: vars{"x": &x0, "y": ptr(x0)}, now: vars{"s": &s, "x": &x, "y": &y}}
		require.NoError(t, a.restart(t, mode))
		require.Equal(t, []float64{4, 5, 6}, x)
		require.Same(t, &x[0], &y[0])
		require.Equal(t, []float64{1, 2, 3}, s.All)
		require.Same(t, &s.All[1], &s.Tail[0])
	}
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
