package matrixmarket_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/craft-go/craft/examples/lanczos/matrixmarket"
	"github.com/stretchr/testify/require"
)

// dense gives all values of a matrix row by row, and checks the order of the
// entries.
func dense(t testing.TB, m *matrixmarket.Matrix) [][]float64 {
	rows := make([][]float64, m.Rows())
	entries := int64(0)
	for i := range rows {
		rows[i] = make([]float64, m.Rows())
		last := int64(-1)
		m.Row(int64(i), func(column int64, value float64) {
			require.Greater(t, column, last)
			last = column
			rows[i][column] = value
			entries++
		})
	}
	require.Equal(t, m.Entries(), entries)
	return rows
}

const general = "%%MatrixMarket matrix coordinate real general\n"

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want [][]float64
	}{
		"general":         {general + "2 2 3\n1 1 5\n1 2 -1e-1\n2 1 -0.1\n", [][]float64{{5, -0.1}, {-0.1, 0}}},
		"lower triangle":  {"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 5\n2 1 3\n", [][]float64{{5, 3}, {3, 0}}},
		"upper triangle":  {"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 5\n1 2 3\n", [][]float64{{5, 3}, {3, 0}}},
		"pattern":         {"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n", [][]float64{{1, 1}, {1, 0}}},
		"integer":         {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 -7\n", [][]float64{{-7}}},
		"duplicates":      {general + "2 2 4\n1 2 1\n2 1 3\n1 1 1\n1 2 2\n", [][]float64{{1, 3}, {3, 0}}},
		"no entries":      {general + "2 2 0\n", [][]float64{{0, 0}, {0, 0}}},
		"case, spaces":    {"%%matrixmarket MATRIX Coordinate Real GENERAL  \r\n% c\r\n\r\n 1\t1  1 \r\n%\n1 1 2\r\n", [][]float64{{2}}},
		"no last newline": {general + "1 1 1\n1 1 2", [][]float64{{2}}},
		"rounding":        {general + "2 2 2\n1 2 0.1\n2 1 0.10000000000000002\n", [][]float64{{0, 0.1}, {0.10000000000000002, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := matrixmarket.Read(strings.NewReader(c.text))
			require.NoError(t, err)
			require.Equal(t, c.want, dense(t, m))
		})
	}
}

func TestReadErrors(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		is   error
		line int64
		says string
	}{
		"empty":            {"", matrixmarket.ErrSyntax, 1, "empty"},
		"not the format":   {"hello\n", matrixmarket.ErrSyntax, 1, "%%MatrixMarket"},
		"not even lines":   {strings.Repeat("\x00", 2<<20), matrixmarket.ErrSyntax, 1, "%%MatrixMarket"},
		"short header":     {"%%MatrixMarket matrix\n", matrixmarket.ErrSyntax, 1, "2 words"},
		"vector":           {"%%MatrixMarket vector coordinate real general\n", matrixmarket.ErrUnsupported, 1, "vector"},
		"array":            {"%%MatrixMarket matrix array real general\n", matrixmarket.ErrUnsupported, 1, "array"},
		"complex":          {"%%MatrixMarket matrix coordinate complex general\n", matrixmarket.ErrUnsupported, 1, "complex"},
		"Hermitian":        {"%%MatrixMarket matrix coordinate complex hermitian\n", matrixmarket.ErrUnsupported, 1, "complex"},
		"real Hermitian":   {"%%MatrixMarket matrix coordinate real hermitian\n", matrixmarket.ErrUnsupported, 1, "hermitian"},
		"skew":             {"%%MatrixMarket matrix coordinate real skew-symmetric\n", matrixmarket.ErrUnsupported, 1, "skew"},
		"unknown field":    {"%%MatrixMarket matrix coordinate quaternion general\n", matrixmarket.ErrSyntax, 1, "quaternion"},
		"no sizes":         {general + "% only comments\n", matrixmarket.ErrSyntax, 3, "missing"},
		"two sizes":        {general + "3 3\n", matrixmarket.ErrSyntax, 2, "2 words"},
		"sizes in letters": {general + "a b c\n", matrixmarket.ErrSyntax, 2, `"a"`},
		"negative":         {general + "-1 -1 0\n", matrixmarket.ErrSyntax, 2, `"-1"`},
		"no rows":          {general + "0 0 0\n", matrixmarket.ErrSyntax, 2, "no rows"},
		"not square":       {general + "2 3 0\n", matrixmarket.ErrNotSymmetric, 2, "2 rows and 3 columns"},
		"too many rows":    {general + "3000000000 3000000000 1\n", matrixmarket.ErrTooLarge, 2, "3000000000"},
		"beyond int64":     {general + "99999999999999999999 1 1\n", matrixmarket.ErrTooLarge, 2, "99999999999999999999"},
		"row 0":            {general + "2 2 1\n0 1 5\n", matrixmarket.ErrSyntax, 3, "row 0 is outside 1 to 2"},
		"row 3":            {general + "2 2 1\n% c\n\n3 1 5\n", matrixmarket.ErrSyntax, 5, "row 3"},
		"column 3":         {general + "2 2 1\n1 3 5\n", matrixmarket.ErrSyntax, 3, "column 3"},
		"column huge":      {general + "2 2 1\n1 99999999999999999999 5\n", matrixmarket.ErrSyntax, 3, "column 9999"},
		"row in letters":   {general + "2 2 1\nx 1 5\n", matrixmarket.ErrSyntax, 3, `"x" is not a row`},
		"value missing":    {general + "2 2 1\n1 1\n", matrixmarket.ErrSyntax, 3, "2 words"},
		"value in letters": {general + "2 2 1\n1 1 one\n", matrixmarket.ErrSyntax, 3, `"one"`},
		"NaN":              {general + "2 2 1\n1 1 nan\n", matrixmarket.ErrSyntax, 3, `"nan"`},
		"Inf":              {general + "2 2 1\n1 1 -inf\n", matrixmarket.ErrSyntax, 3, `"-inf"`},
		"overflow":         {general + "2 2 1\n1 1 1e999\n", matrixmarket.ErrSyntax, 3, `"1e999"`},
		"not an integer":   {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n", matrixmarket.ErrSyntax, 3, "1.5"},
		"pattern, value":   {"%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1\n", matrixmarket.ErrSyntax, 3, "pattern"},
		"too few":          {general + "2 2 3\n1 1 5\n", matrixmarket.ErrSyntax, 4, "1 of 3"},
		"too many":         {general + "2 2 1\n1 1 5\n2 2 5\n", matrixmarket.ErrSyntax, 4, "more than the 1"},
		"asymmetric":       {general + "2 2 3\n1 1 5\n% c\n1 2 1\n2 1 2\n", matrixmarket.ErrNotSymmetric, 5, "a(1,2) = 1, but a(2,1) = 2"},
		"one triangle":     {general + "2 2 1\n2 1 2\n", matrixmarket.ErrNotSymmetric, 3, "a(2,1) = 2, but a(1,2) = 0"},
		"both triangles":   {"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n1 2 1\n", matrixmarket.ErrSyntax, 4, "other side"},
		"long line":        {general + strings.Repeat(" ", 2<<20), matrixmarket.ErrSyntax, 2, "longer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := matrixmarket.Read(strings.NewReader(c.text))
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
			var at *matrixmarket.LineError
			require.ErrorAs(t, err, &at)
			require.Equal(t, c.line, at.Line, "%v", err)
		})
	}
}

// TestHostileSizes: a few bytes must not claim gigabytes.
func TestHostileSizes(t *testing.T) {
	for _, sizes := range []string{"2000000000 2000000000 1", "2000000000 2000000000 9000000000000000000"} {
		_, err := matrixmarket.Read(strings.NewReader(general + sizes + "\n1 1 1\n"))
		require.Error(t, err)
	}
	_, err := matrixmarket.Read(strings.NewReader(general + "2000000000 2000000000 1\n1 1 1\n"))
	require.ErrorIs(t, err, matrixmarket.ErrTooLarge)
	_, err = matrixmarket.Read(strings.NewReader(general + "2 2 4\n1 1 1e308\n1 1 1e308\n2 2 1\n2 2 1\n"))
	require.ErrorIs(t, err, matrixmarket.ErrTooLarge, "a sum beyond float64")
}

func TestGzip(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(general + "1 1 1\n1 1 2\n"))
	require.NoError(t, w.Close())
	m, err := matrixmarket.Read(bytes.NewReader(z.Bytes()))
	require.NoError(t, err)
	require.Equal(t, [][]float64{{2}}, dense(t, m))

	_, err = matrixmarket.Read(bytes.NewReader(z.Bytes()[:z.Len()-9]))
	require.Error(t, err, "cut off")
	damaged := bytes.Clone(z.Bytes())
	damaged[z.Len()-5] ^= 1
	_, err = matrixmarket.Read(bytes.NewReader(damaged))
	require.ErrorIs(t, err, gzip.ErrChecksum)
}

func TestReaderError(t *testing.T) {
	broken := errors.New("broken")
	r := &failing{strings.NewReader(general + "2 2 2\n1 1 1\n"), broken}
	_, err := matrixmarket.Read(r)
	require.ErrorIs(t, err, broken)
}

type failing struct {
	r   *strings.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.r.Len() == 0 {
		return 0, f.err
	}
	return f.r.Read(p)
}

// FuzzRead: whatever is read without an error is symmetric, and as large as it
// may be for its number of bytes.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.mtx*")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(general + "4000000 4000000 1\n1 1 nan\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := matrixmarket.Read(bytes.NewReader(data))
		if err != nil || m.Rows() > 100 {
			return
		}
		rows := dense(t, m)
		largest := 0.0
		for _, row := range rows {
			for _, v := range row {
				largest = max(largest, v, -v)
			}
		}
		for i, row := range rows {
			for j, v := range row {
				require.InDelta(t, v, rows[j][i], matrixmarket.Tolerance*largest)
			}
		}
	})
}
