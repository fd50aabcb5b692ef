package replica

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// exactLoss is the paper's sum for P≤(f) (IV-D), with bits that outlast its cancellation.
func exactLoss(p, r, f int, precision uint) float64 {
	sum := new(big.Float).SetPrec(precision)
	term := new(big.Float).SetPrec(precision).SetInt64(1)
	times := func(a, b int) {
		term.Mul(term, new(big.Float).SetPrec(precision).SetInt64(int64(a)))
		term.Quo(term, new(big.Float).SetPrec(precision).SetInt64(int64(b)))
	}
	for j := range min(p/r, f/r) {
		times(-(p/r - j), j+1)
		for i := j * r; i < (j+1)*r; i++ {
			times(f-i, p-i)
		}
		sum.Sub(sum, term)
		if term.Sign() == 0 || sum.Sign() > 0 && term.MantExp(nil) < sum.MantExp(nil)-70 {
			break
		}
	}
	v, _ := sum.Float64()
	return v
}

// rationalLoss is the same in fractions.
func rationalLoss(p, r, f int) *big.Rat {
	sum := new(big.Int)
	for j := 1; j <= min(p/r, f/r); j++ {
		term := new(big.Int).Binomial(int64(p/r), int64(j))
		term.Mul(term, new(big.Int).Binomial(int64(p-j*r), int64(f-j*r)))
		if j%2 == 0 {
			term.Neg(term)
		}
		sum.Add(sum, term)
	}
	return new(big.Rat).SetFrac(sum, new(big.Int).Binomial(int64(p), int64(f)))
}

func requireClose(t *testing.T, want, got, tolerance float64, what ...any) {
	t.Helper()
	if want == 0 || got == 0 {
		require.Equal(t, want, got, what...)
		return
	}
	require.InEpsilon(t, want, got, tolerance, what...)
}

func TestLossOfSmallWorlds(t *testing.T) {
	numbersAlone(t)
	for p := 1; p <= 60; p++ {
		for r := 1; r <= p; r++ {
			if p%r != 0 {
				continue
			}
			l, err := NewLoss(p, r)
			require.NoError(t, err)
			before, mean := new(big.Rat), 0.0
			for f := 0; f <= p; f++ {
				by := rationalLoss(p, r, f)
				want, _ := by.Float64()
				requireClose(t, want, l.By(f), 1e-12, "p=%d r=%d f=%d", p, r, f)
				if rest, _ := new(big.Rat).Sub(big.NewRat(1, 1), by).Float64(); f < p && l.groups > 1 && f >= r && f <= p-l.groups {
					requireClose(t, rest, math.Exp(l.logSurvival(f)), 1e-11, "survival, p=%d r=%d f=%d", p, r, f)
				}
				at, _ := new(big.Rat).Sub(by, before).Float64()
				requireClose(t, at, l.At(f), 1e-11, "P=, p=%d r=%d f=%d", p, r, f)
				before, mean = by, mean+float64(f)*at
			}
			require.InEpsilon(t, mean, l.Mean(), 1e-12, "p=%d r=%d", p, r)
		}
	}
}

func TestLossAtRandom(t *testing.T) {
	random := testseed.Rand(t)
	for range 100 {
		r := 1 + random.IntN(6)
		if random.IntN(10) == 0 {
			r = 1 + random.IntN(300)
		}
		p := r * (1 + random.IntN(1<<(1+random.IntN(12))))
		l, err := NewLoss(p, r)
		require.NoError(t, err)
		// Around where a loss becomes likely, and anywhere.
		f := min(p, int((0.1+2*random.Float64())*l.Mean()))
		if random.IntN(4) == 0 {
			f = random.IntN(p + 1)
		}
		requireClose(t, exactLoss(p, r, f, 6000), l.By(f), 1e-11, "p=%d r=%d f=%d", p, r, f)
	}
}

// In the largest worlds of the paper, with the sum of IV-D in 256 bits.
func TestLossOfLargeWorlds(t *testing.T) {
	for _, c := range []struct {
		p, r     int
		fs       []int
		accurate float64
	}{
		{1 << 25, 2, []int{2, 100, 4_000, 5_793, 9_000, 20_000, 40_000}, 1e-11},
		{3 << 23, 3, []int{3, 1_000, 80_000, 110_000, 200_000, 300_000}, 1e-11},
		{1 << 25, 4, []int{4, 5, 1_000, 100_000, 500_000, 623_000, 624_000, 1_000_000, 1_500_000}, 1e-11},
		{1 << 25, 1 << 10, []int{1 << 10, 33_200_000, 33_300_000}, 1e-11},
		{24_576, 4, []int{4, 246, 1_000, 2_500, 5_000, 8_000}, 1e-12},
	} {
		l, err := NewLoss(c.p, c.r)
		require.NoError(t, err)
		for _, f := range c.fs {
			requireClose(t, exactLoss(c.p, c.r, f, 256), l.By(f), c.accurate, "p=%d r=%d f=%d", c.p, c.r, f)
		}
	}
}

func TestLossIsFastInLargeWorlds(t *testing.T) {
	l, err := NewLoss(1<<25, 4)
	require.NoError(t, err)
	start := time.Now()
	require.InEpsilon(t, 565_400, l.Mean(), 0.01)
	require.InEpsilon(t, 550_000, l.Quantile(0.5), 0.1)
	require.Less(t, time.Since(start), time.Second)
}

// Both branches meet, P= is the difference of P≤, quantiles invert it.
func TestLossAgreesWithItself(t *testing.T) {
	for _, c := range []struct{ p, r int }{{48, 4}, {6144, 2}, {3 << 11, 3}, {24_576, 4}} {
		l, err := NewLoss(c.p, c.r)
		require.NoError(t, err)
		for _, u := range []float64{1e-6, 0.01, 0.3, 0.63, 0.64, 0.9, 0.999} {
			f := l.Quantile(u)
			require.GreaterOrEqual(t, l.By(f), u)
			require.Less(t, l.By(f-1), u)
			require.InDelta(t, l.By(f)-l.By(f-1), l.At(f), 1e-12)
			if f > c.r && l.failedGroups(f) > 0.01 {
				require.InDelta(t, l.By(f), -math.Expm1(l.logSurvival(f)), 1e-11)
			}
		}
		low, high := l.Quantile(0.001), l.Quantile(0.999)
		var sum, mean, square float64
		for f := 1; f <= min(c.p, 2*high); f++ {
			at := l.At(f)
			sum, mean, square = sum+at, mean+float64(f)*at, square+float64(f)*float64(f)*at
		}
		require.InEpsilon(t, 1, sum, 1e-9)
		require.InEpsilon(t, mean, l.Mean(), 1e-9)
		require.InEpsilon(t, math.Sqrt(square-mean*mean), l.StandardDeviation(), 1e-6)
		require.Less(t, low, high)
	}
}

func TestLossWithOneCopy(t *testing.T) {
	l, err := NewLoss(1<<25, 1)
	require.NoError(t, err)
	require.Equal(t, 0.0, l.By(0))
	require.Equal(t, 1.0, l.By(1))
	require.Equal(t, 1.0, l.At(1))
	require.InEpsilon(t, 1, l.Mean(), 1e-9)
	require.InDelta(t, 0, l.StandardDeviation(), 1e-3)
	require.Equal(t, 1, l.Quantile(0.5))
}

// IV-D: as long as few fail the probability is about g*(f/p)^r, of g = p/r groups.
func TestLossAfterFewFailures(t *testing.T) {
	for _, c := range []struct{ p, r int }{{1 << 25, 2}, {3 << 23, 3}, {1 << 25, 4}, {24_576, 4}, {24_576, 1}} {
		l, err := NewLoss(c.p, c.r)
		require.NoError(t, err)
		for _, f := range []int{50, 100, 200} {
			about := float64(c.p/c.r) * math.Pow(float64(f)/float64(c.p), float64(c.r))
			if about < 0.01 { // C(f,r) is less than f^r/r! by about r(r-1)/2f
				require.InEpsilon(t, about, l.By(f), 0.01+float64(c.r*(c.r-1))/float64(2*f), "p=%d r=%d f=%d", c.p, c.r, f)
			}
		}
	}
}

func TestLossRefuses(t *testing.T) {
	for _, c := range []struct {
		p, r int
		says string
	}{{8, 0, "0 copies on 8 ranks"}, {3, 4, "4 copies on 3 ranks"}, {0, 1, "1 copies on 0 ranks"}, {10, 4, "4 does not divide 10"}} {
		_, err := NewLoss(c.p, c.r)
		require.ErrorContains(t, err, c.says)
	}
}
