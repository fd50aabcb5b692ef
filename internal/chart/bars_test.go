package chart

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata anew: look at it before it is committed")

func exampleBars() Bars {
	return Bars{
		Title: "Example", Label: "seconds", Parts: []Part{{"lower", 0}, {"upper", 2}},
		Groups: []Group{
			{"one\ngroup", []Bar{{"a", []float64{1, 0.5}, 0.2}, {"b", []float64{2, 0}, 0}}},
			{"another", []Bar{{"a", []float64{0, 1}, 0.1}}},
		},
	}
}

// The picture is compared as a whole: one that has changed has to be looked at.
func TestDrawBars(t *testing.T) {
	const golden = "testdata/bars.svg"
	var out bytes.Buffer
	require.NoError(t, DrawBars(&out, "svg", exampleBars()))
	if *update {
		require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String(), "go test ./internal/chart -update")

	out.Reset()
	require.NoError(t, DrawBars(&out, "png", exampleBars(), exampleBars()))
	picture, err := png.Decode(&out)
	require.NoError(t, err)
	require.Greater(t, picture.Bounds().Dy(), 600, "two panels")
}

func TestHeights(t *testing.T) {
	b := exampleBars()
	require.Equal(t, 2.0, b.top())
	require.Equal(t, 4.0, b.places())
	b.Groups[1].Bars[0].Half = 2
	require.Equal(t, 3.0, b.top(), "with the interval")
	require.Equal(t, 1.0, Bar{Parts: []float64{1, -3}}.until(2), "what cannot be is nothing")
}

func TestBarsThatCannotBeDrawn(t *testing.T) {
	var out bytes.Buffer
	require.ErrorContains(t, DrawBars(&out, "svg"), "one panel or more")
	require.ErrorContains(t, DrawBars(&out, "svg", Bars{Title: "x", Parts: []Part{{"a", 0}}}), `bars "x": there are 0 bars`)
	b := exampleBars()
	b.Groups[1].Bars[0].Parts = nil
	require.ErrorContains(t, DrawBars(&out, "svg", b), `bar "a" of group "another": 0 values, and there are 2 parts`)
	require.Error(t, DrawBars(&out, "bmp", exampleBars()))
}
