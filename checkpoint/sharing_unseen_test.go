package checkpoint

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
)

type node struct {
	V    int64
	Next *node
}

// listOf is a list of n nodes that begins with the number first.
func listOf(first, n int) (root, last *node) {
	for i := range n {
		root = &node{int64(first + n - 1 - i), root}
		if i == 0 {
			last = root
		}
	}
	return root, last
}

func (n *node) values() (all []int64) {
	for ; n != nil; n = n.Next {
		all = append(all, n.V)
	}
	return all
}

const doesNotSay = "the version does not say"

// Of a large list a write looks at the first nodes only. What may have shared memory with
// the others is named at the restart; what lay in none of it is known as ever.
func TestSharingThatWasNotLookedAt(t *testing.T) {
	for n, unseen := range map[int]bool{1000: false, 5000: true} {
		for _, mode := range modes {
			root0, last0 := listOf(0, n)
			x0 := []int{1, 2, 3}
			root, last := listOf(70_000, n)
			x := []int{7, 7, 7}
			prev := x
			var log bytes.Buffer
			a := alias{
				stored: vars{"last": &last0, "prev": &[]int{4, 5, 6}, "root": &root0, "x": &x0},
				now:    vars{"last": &last, "prev": &prev, "root": &root, "x": &x},
			}
			require.NoError(t, a.restart(t, mode, WithLogger(slog.New(slog.NewTextHandler(&log, nil)))))
			require.Equal(t, root0.values(), root.values())
			require.Equal(t, last0.values(), last.values())
			require.Equal(t, [][]int{{1, 2, 3}, {4, 5, 6}}, [][]int{x, prev})
			end := root
			for end.Next != nil {
				end = end.Next
			}
			require.Equal(t, !unseen, end == last)
			want := 0
			if unseen {
				want = 1
			}
			require.Equal(t, want, bytes.Count(log.Bytes(), []byte(doesNotSay)), log.String())
			if unseen {
				require.Contains(t, log.String(), "key=last other_key=root")
			}
		}
	}
}

// The same of elements that are picked one by one.
func TestSharingOfPickedElements(t *testing.T) {
	column := func(x *[]float64) cptypes.Value {
		return cptypes.MatrixColumns(x, 3, 4, 4, cptypes.RowMajor, cptypes.Column(0))
	}
	flat0, flat := make([]float64, 12), make([]float64, 12)
	flat0[0], flat0[4] = 1, 2
	row0, row := flat0[:4], flat[:4]
	var log bytes.Buffer
	a := alias{stored: vars{"column": column(&flat0), "row": &row0}, now: vars{"column": column(&flat), "row": &row}}
	require.NoError(t, a.restart(t, "off", WithLogger(slog.New(slog.NewTextHandler(&log, nil)))))
	require.Equal(t, flat0, flat)
	require.Equal(t, row0, row)
	require.Contains(t, log.String(), doesNotSay)
	require.Contains(t, log.String(), "key=column other_key=row")
}

func TestUnseenSharingIsEncoded(t *testing.T) {
	keys := []string{"a", "b", "c", "d", "e"}
	field := groups([][2]int{{1, 2}}).encode([]int{2, 4})
	n := parseSharing(field, keys)
	require.True(t, n.together("b", "c"))
	require.False(t, n.unknown("b", "c"))
	for key, unseen := range map[string]bool{"b": false, "c": true, "d": false, "e": true} {
		require.Equal(t, unseen, n.unknown("a", key), key)
	}
	require.True(t, n.unknown("e", "e"))
	require.False(t, n.unknown("c", "c"), "it is in a group")
	require.Equal(t, sharing{nil, {2}, nil, {4}, {1, 2}}, decodeSharing(field), "older programs see groups, the last of which count")
	require.False(t, parseSharing(nil, keys).unknown("a", "b"))

	var many sharing
	for i := range maxSharing / 4 {
		many = append(many, []int{i, 1 << 20})
	}
	n = parseSharing(many.encode(nil), keys)
	require.True(t, n.unknown("a", "b"))
	require.False(t, n.together("a", "b"))
}

// What a map that the version lacks holds does not change with a value that is read.
func TestMapThatIsNotStored(t *testing.T) {
	dir := t.TempDir()
	stored := []float64{5, 6}
	cp := vars{"x": &stored}.checkpoint(t, nil, dir)
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, cp.Close())
	x := []float64{1, 2}
	seen := map[string][]float64{"before": x}
	in := struct{ Of map[int]*[]float64 }{map[int]*[]float64{1: {}}}
	*in.Of[1] = x
	cp, err := New("test", nil, WithPath(dir), WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	defer cp.Close()
	require.NoError(t, errors.Join(cp.Add("x", &x), cp.Add("seen", &seen, Optional()), cp.Add("in", &in, Optional()), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil)))
	require.Equal(t, []float64{5, 6}, x)
	require.Equal(t, []float64{1, 2}, seen["before"])
	require.Equal(t, []float64{1, 2}, *in.Of[1])
}
