package chart

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func example() Chart {
	return Chart{
		Title: "Powers", X: Axis{Label: "x", Log: true, Min: 1, Max: 1000}, Y: Axis{Label: "y", Log: true, Min: 1e-6, Max: 1},
		Curves: []Curve{
			{Name: "line", X: []float64{1, 10, 1000}, Y: []float64{0, 1e-3, 2}}, // the first one has no logarithm
			{Name: "band", X: []float64{1, 1000}, Y: []float64{1e-4, 0.1}, Low: []float64{0, 0.05}, High: []float64{1e-3, 0.2}, Dashed: true, Dots: true},
		},
	}
}

func TestDraw(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, example().Draw(&out, "png"))
	picture, err := png.Decode(&out)
	require.NoError(t, err)
	require.Greater(t, picture.Bounds().Dx(), 500)

	out.Reset()
	require.NoError(t, example().Draw(&out, "svg"))
	for _, text := range []string{">Powers<", ">line<", ">band<", ">0.001<", ">1,000<"} {
		require.Contains(t, out.String(), text)
	}
	for d := xml.NewDecoder(&out); ; {
		_, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
	}

	require.Error(t, example().Draw(&out, "bmp"))
	empty := Chart{Curves: []Curve{{Name: "none"}}}
	require.ErrorContains(t, empty.Draw(&out, "svg"), `curve "none"`)
}

func TestFormat(t *testing.T) {
	for file, want := range map[string]string{"a.svg": "svg", "dir.x/B.PNG": "png"} {
		got, err := Format(file)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, file := range []string{"a", "a.gif", "svg"} {
		_, err := Format(file)
		require.ErrorContains(t, err, "ends in .svg or .png")
	}
}

func TestDecades(t *testing.T) {
	var labels []string
	for _, tick := range decades(-9, 0) {
		if tick.Label != "" {
			labels = append(labels, tick.Label)
		}
	}
	require.Equal(t, []string{"1e-9", "1e-8", "1e-7", "1e-6", "1e-5", "1e-4", "0.001", "0.01", "0.1", "1"}, labels)
	require.Len(t, decades(0, 3), 28)
	require.Len(t, decades(math.Log10(2), math.Log10(20)), 10)
	require.Less(t, len(decades(-30, 0)), 32)
}
