package dataset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/examples/kmeans/dataset"
)

// TestFirstLine: a first line of numbers is a point, behind a byte order mark and with a number that is too large, too.
func TestFirstLine(t *testing.T) {
	s, err := dataset.Open(file(t, "a.csv", "\ufeff1,2\n3,4\n"))
	require.NoError(t, err)
	points, _ := s.Size()
	require.EqualValues(t, 2, points)
	s, err = dataset.Open(file(t, "b.csv", "1e999,2\n3,4\n"))
	if err == nil {
		points, _ = s.Size()
		require.EqualValues(t, 2, points)
	}
}

// TestHugeHeader: a file that is shorter than its header says is refused when it is opened.
func TestHugeHeader(t *testing.T) {
	_, err := dataset.Open(file(t, "a.npy", array("<f8", "False", "(4611686018427387904, 2)", []float64{1, 2})))
	require.ErrorIs(t, err, dataset.ErrFormat)
}
