package cptypes_test

import (
	randv1 "math/rand"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
)

func TestGenerators(t *testing.T) {
	t.Run("PCG", func(t *testing.T) {
		cptypestest.Run(t, cptypestest.Case[rand.PCG]{
			ToEOF: true,
			Fill:  func(v *rand.PCG, rng *rand.Rand) { v.Seed(rng.Uint64(), rng.Uint64()) },
		})
	})
	t.Run("ChaCha8", func(t *testing.T) {
		cptypestest.Run(t, cptypestest.Case[rand.ChaCha8]{
			ToEOF: true,
			Fill: func(v *rand.ChaCha8, rng *rand.Rand) {
				var seed [32]byte
				for i := range seed {
					seed[i] = byte(rng.Uint32())
				}
				v.Seed(seed)
				for range rng.IntN(100) {
					v.Uint64()
				}
			},
			Equal: func(a, b *rand.ChaCha8) bool {
				x, y := *a, *b
				for range 1000 {
					if x.Uint64() != y.Uint64() {
						return false
					}
				}
				return true
			},
		})
	})
}

// The stream goes on where it was, whoever draws from the source.
func TestStreamGoesOnAfterRestart(t *testing.T) {
	chacha := rand.NewChaCha8([32]byte{1, 2, 3})
	_, err := chacha.Read(make([]byte, 13)) // part of a word
	require.NoError(t, err)
	for name, c := range map[string]struct{ run, restarted rand.Source }{
		"PCG":     {rand.NewPCG(1, 2), rand.NewPCG(3, 4)},
		"ChaCha8": {chacha, rand.NewChaCha8([32]byte{})},
	} {
		t.Run(name, func(t *testing.T) {
			x, y := rand.New(c.run), rand.New(c.restarted)
			for range 777 {
				x.NormFloat64()
			}
			require.NoError(t, transfer(t, of(t, c.run), of(t, c.restarted)))
			for range 777 {
				require.Equal(t, x.NormFloat64(), y.NormFloat64())
			}
		})
	}
}

func TestRandIsNoSource(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, v := range []any{r, &r, *r} {
		_, err := cptypes.Of(v)
		require.ErrorIs(t, err, cptypes.ErrUnsupported)
		require.ErrorContains(t, err, "add its source instead, a *rand.PCG or *rand.ChaCha8")
	}
	old := randv1.New(randv1.NewSource(1))
	for _, v := range []any{old, &old} {
		_, err := cptypes.Of(v)
		require.ErrorIs(t, err, cptypes.ErrUnsupported)
		require.ErrorContains(t, err, "use math/rand/v2")
	}
}
