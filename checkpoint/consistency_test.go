package checkpoint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/placement"
)

func TestMaximaGoRound(t *testing.T) {
	for _, m := range []maxima{
		{},
		{boxes: true},
		{outcome: placement.Outcome{Spilled: true}},
		{outcome: placement.Outcome{Levels: storage.LevelsOf(storage.XOR)}, slowest: slowest{1, 2, 3, 4}},
	} {
		require.Equal(t, m, decodeMaxima(m.encode()))
	}
}
