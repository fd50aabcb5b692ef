package launch

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
)

func TestPrinter(t *testing.T) {
	pieces := []struct {
		proc control.Proc
		text string
	}{{0, "a\nb\n"}, {1, "long "}, {1, "line"}, {1, " ends\n"}, {0, "begun"}, {1, "other\n"}, {0, "rest\n"}}
	for tags, want := range map[bool]string{
		false: "a\nb\nlong line ends\nbegun\nother\nrest\n",
		true:  "[10] a\n[10] b\n[11] long line ends\n[10] begun\n[11] other\n[10] rest\n",
	} {
		var out bytes.Buffer
		taken := 0
		p := newPrinter(&out, "", tags, nil)
		for _, piece := range pieces {
			p.add(printed{
				by: writer{proc: piece.proc}, original: 10 + control.Original(piece.proc), data: []byte(piece.text),
				taken: func(n int) { taken += n },
			})
		}
		require.NoError(t, p.close())
		require.Equal(t, want, out.String())
		require.Equal(t, len("a\nb\nlong line ends\nbegunother\nrest\n"), taken)
	}
}

// TestPrinterOfDeployments: what a lost node has left unfinished is not gone on with by the process that has the
// same number in the next deployment.
func TestPrinterOfDeployments(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(&out, "", true, nil)
	for deployment, text := range []string{"begun", "other\n"} {
		p.add(printed{by: writer{deployment: deployment}, data: []byte(text), taken: func(int) {}})
	}
	require.NoError(t, p.close())
	require.Equal(t, "[0] begun\n[0] other\n", out.String())
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestPrinterGoesOnAfterAnError(t *testing.T) {
	taken := 0
	var lost error
	p := newPrinter(brokenWriter{}, "standard output", false, func(err error) { lost = err })
	for range 3 {
		p.add(printed{data: []byte("x\n"), taken: func(n int) { taken += n }})
	}
	require.ErrorIs(t, p.close(), errBroken)
	require.Equal(t, 6, taken)
	require.EqualError(t, lost, "standard output: broken")
}
