package launch

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLinesAreWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for range 200 {
		text = append(text, strings.Repeat("x", r.IntN(300))+"\n"...)
	}
	text = append(text, "the last one"...)
	var l lines
	var got []byte
	for rest := text; len(rest) > 0; {
		n := min(len(rest), 1+r.IntN(1000))
		l.write(rest[:n], func(piece []byte) {
			require.True(t, bytes.HasSuffix(piece, []byte("\n")))
			got = append(got, piece...)
		})
		rest = rest[n:]
	}
	l.end(func(piece []byte) { got = append(got, piece...) })
	require.Equal(t, string(text)+"\n", string(got))
}

func TestLongLinesGoInPieces(t *testing.T) {
	text := strings.Repeat("x", 3*maxLine+5)
	var l lines
	var pieces []string
	keep := func(piece []byte) { pieces = append(pieces, string(piece)) }
	l.write([]byte(text), keep)
	require.Len(t, pieces, 3)
	l.write([]byte("\nnext\nunfinished"), keep)
	l.end(keep)
	require.Equal(t, text+"\nnext\nunfinished\n", strings.Join(pieces, ""))
	for _, p := range pieces {
		require.LessOrEqual(t, len(p), maxOutput)
	}
}

func TestManyShortLinesFitIntoMessages(t *testing.T) {
	var l lines
	var got bytes.Buffer
	text := strings.Repeat("0123456\n", maxOutput)
	l.write([]byte(text), func(piece []byte) {
		require.LessOrEqual(t, len(piece), maxOutput)
		got.Write(piece)
	})
	require.Equal(t, text, got.String())
}
