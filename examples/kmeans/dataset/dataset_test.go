package dataset_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codeberg.org/sbinet/npyio/npy"
	"github.com/craft-go/craft/examples/kmeans/dataset"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// made are points that are read from a seed, and written to files by the tests.
var made = dataset.Generated{Points: 700, Dim: 3, Places: 4, Seed: 5}

func all(t *testing.T, s dataset.Source) []float64 {
	n, dim := s.Size()
	data := make([]float64, int(n)*dim)
	require.NoError(t, s.Read(0, data))
	return data
}

func file(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// array is a file of version 1 as NumPy writes it.
func array(descr, order, shape string, data any) string {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b strings.Builder
	b.WriteString("\x93NUMPY\x01\x00")
	_ = binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	order2 := binary.ByteOrder(binary.LittleEndian)
	if strings.HasPrefix(descr, ">") {
		order2 = binary.BigEndian
	}
	_ = binary.Write(&b, order2, data)
	return b.String()
}

func lines(data []float64, dim int) string {
	var b strings.Builder
	for i, x := range data {
		end := ","
		if (i+1)%dim == 0 {
			end = "\n"
		}
		fmt.Fprintf(&b, "%v%s", x, end)
	}
	return b.String()
}

// TestFilesHaveTheSamePoints as what was written, in any part that is read.
func TestFilesHaveTheSamePoints(t *testing.T) {
	want := all(t, made)
	short := make([]float32, len(want))
	rounded := make([]float64, len(want))
	for i, x := range want {
		short[i] = float32(x)
		rounded[i] = float64(short[i])
	}
	written := filepath.Join(t.TempDir(), "written.npy")
	f, err := os.Create(written)
	require.NoError(t, err)
	require.NoError(t, npy.Write(f, mat.NewDense(700, 3, want)))
	require.NoError(t, f.Close())
	for name, c := range map[string]struct {
		path string
		want []float64
	}{
		"npy":              {written, want},
		"npy, version 1":   {file(t, "a.npy", array("<f8", "False", "(700, 3)", want)), want},
		"npy, big-endian":  {file(t, "a.NPY", array(">f8", "False", "(700, 3)", want)), want},
		"npy, float32":     {file(t, "a.npy", array("<f4", "False", "(700, 3)", short)), rounded},
		"csv":              {file(t, "a.csv", lines(want, 3)), want},
		"csv with names":   {file(t, "a.csv", "x,y,z\n"+lines(want, 3)), want},
		"csv with remarks": {file(t, "a.csv", "# points\n\nx, y,z\n"+strings.ReplaceAll(lines(want, 3), "\n", " \n# \r\n\r\n")), want},
		"csv without end":  {file(t, "a.csv", strings.TrimSpace(strings.ReplaceAll(lines(want, 3), ",", ", "))), want},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := dataset.Open(c.path)
			require.NoError(t, err)
			points, dim := s.Size()
			require.EqualValues(t, 700, points)
			require.Equal(t, 3, dim)
			require.Equal(t, c.want, all(t, s))
			rng := testseed.Rand(t)
			for range 20 {
				lo := rng.Int64N(points)
				part := make([]float64, 3*rng.Int64N(points-lo+1))
				require.NoError(t, s.Read(lo, part))
				require.Equal(t, c.want[3*lo:3*int(lo)+len(part)], part)
			}
		})
	}
}

func TestBadFiles(t *testing.T) {
	numbers := []float64{1, 2, 3, 4, 5, 6}
	whole := array("<f8", "False", "(3, 2)", numbers)
	for name, c := range map[string]struct{ path, says string }{
		"no such file":       {filepath.Join(t.TempDir(), "none.npy"), "none.npy"},
		"another format":     {file(t, "a.txt", "1,2"), ".npy or .csv"},
		"no npy":             {file(t, "a.npy", "1,2\n3,4\n"), "NumPy"},
		"empty npy":          {file(t, "a.npy", ""), "EOF"},
		"npy, a few bytes":   {file(t, "a.npy", "1,2"), "it ends before its header does"},
		"npy, half a header": {file(t, "a.npy", whole[:40]), "damaged header"},
		"npy, one axis":      {file(t, "a.npy", array("<f8", "False", "(6,)", numbers)), "2 axes"},
		"npy, Fortran":       {file(t, "a.npy", array("<f8", "True", "(3, 2)", numbers)), "Fortran"},
		"npy, integers":      {file(t, "a.npy", array("<i8", "False", "(3, 2)", []int64{1, 2, 3, 4, 5, 6})), "<i8"},
		"npy, no points":     {file(t, "a.npy", array("<f8", "False", "(0, 2)", numbers)), "0 points"},
		"npy, too short":     {file(t, "a.npy", whole[:len(whole)-8]), "too few for 3 points"},
		"npy, NaN":           {file(t, "a.npy", array("<f8", "False", "(3, 1)", []float64{1, math.NaN(), 2})), "NaN"},
		"npy, infinite":      {file(t, "a.npy", array("<f4", "False", "(1, 1)", []float32{float32(math.Inf(1))})), "+Inf"},
		"empty csv":          {file(t, "a.csv", ""), "0 points"},
		"csv, names alone":   {file(t, "a.csv", "x,y\n"), "0 points"},
		"csv, uneven":        {file(t, "a.csv", "1,2\n3\n"), "line 2"},
		"csv, a word":        {file(t, "a.csv", "x,y\n"+strings.Repeat("1,2\n", 300)+"3,four\n"), `line 302: not a table of points: "four"`},
		"csv, a word first":  {file(t, "a.csv", "one,2\n3,4\n"), `line 1: not a table of points: "one" is no number`},
		"csv, a word second": {file(t, "a.csv", "1,two\n3,4\n"), `line 1: not a table of points: "two" is no number`},
		"csv, semicolons":    {file(t, "a.csv", "1;2\n3;4\n"), "commas"},
		"csv, too large":     {file(t, "a.csv", "1,2\n3,1e200\n"), "line 2: not a table of points: a coordinate is 1e+200"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := dataset.Open(c.path)
			if err == nil {
				n, dim := s.Size()
				err = s.Read(0, make([]float64, int(n)*dim))
			}
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, filepath.Base(c.path))
		})
	}
}

// TestGenerated: points are around as many places as there are to be, and depend on the seed.
func TestGenerated(t *testing.T) {
	g := dataset.Generated{Points: 4000, Dim: 2, Places: 1, Seed: 7}
	mean, square := [2]float64{}, [2]float64{}
	for i, x := range all(t, g) {
		mean[i%2] += x / 4000
		square[i%2] += x * x / 4000
	}
	for j := range mean {
		require.InDelta(t, 0.08, math.Sqrt(square[j]-mean[j]*mean[j]), 0.004)
		require.InDelta(t, 0.5, mean[j], 0.5)
	}
	other := g
	other.Seed++
	require.NotEqual(t, all(t, g)[:10], all(t, other)[:10])
}

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

// TestChangedFile is not read any further, whether it was replaced or written to; another one has another fingerprint.
func TestChangedFile(t *testing.T) {
	data := make([]float64, 40_000)
	for i := range data {
		data[i] = float64(i)
	}
	with := func(at int) []float64 {
		changed := slices.Clone(data)
		changed[at] = 10_600 // as many digits
		return changed
	}
	sampled, between := with(20_000), with(20_600)
	for name, text := range map[string][3]string{
		"a.npy": {array("<f8", "False", "(20000, 2)", data), array("<f8", "False", "(20000, 2)", sampled), array("<f8", "False", "(20000, 2)", between)},
		"a.csv": {lines(data, 2), lines(sampled, 2), lines(between, 2)},
	} {
		then := time.Now().Add(-time.Hour)
		at := func(path string, changed time.Time) string {
			require.NoError(t, os.Chtimes(path, changed, changed))
			return path
		}
		path := at(file(t, name, text[0]), then)
		s, err := dataset.Open(path)
		require.NoError(t, err)
		to := make([]float64, 20)
		require.NoError(t, s.Read(0, to))
		for copied, c := range map[string]struct {
			text string
			time time.Time
			same bool
		}{
			"a copy":                    {text[0], then, true},
			"another point":             {text[1], then, false},
			"one that is not looked at": {text[2], then.Add(time.Second), false},
		} {
			other, err := dataset.Open(at(file(t, name, c.text), c.time))
			require.NoError(t, err)
			require.Equal(t, c.same, s.Fingerprint() == other.Fingerprint(), copied)
		}
		require.NoError(t, os.WriteFile(path, []byte(text[2]), 0o666))
		require.ErrorIs(t, s.Read(0, to), dataset.ErrChanged)
		require.NoError(t, os.Rename(at(file(t, name, text[0]), then), path))
		require.ErrorIs(t, s.Read(0, to), dataset.ErrChanged)
		require.NoError(t, os.Remove(path))
		require.ErrorIs(t, s.Read(0, to), os.ErrNotExist)
	}
}
