package cptypes_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
	"github.com/craft-go/craft/storage/container"
)

func randomTime(rng *rand.Rand) time.Time {
	t := time.Unix(rng.Int64N(1<<40)-1<<39, rng.Int64N(1e9))
	switch rng.IntN(5) {
	case 0:
		return t.UTC()
	case 1:
		return t
	case 2:
		return time.Time{}
	}
	return t.In(time.FixedZone("somewhere", rng.IntN(200_000)-100_000))
}

func sameTime(a, b time.Time) bool {
	_, x := a.Zone()
	_, y := b.Zone()
	return a.Equal(b) && x == y && (a.Location() == time.UTC) == (b.Location() == time.UTC)
}

func TestTimeValues(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		cptypestest.Run(t, cptypestest.Case[time.Time]{
			Fill:  func(v *time.Time, rng *rand.Rand) { *v = randomTime(rng) },
			Equal: func(a, b *time.Time) bool { return sameTime(*a, *b) },
		})
	})
	many := cptypestest.Case[[]time.Time]{
		Fill: func(v *[]time.Time, rng *rand.Rand) {
			*v = make([]time.Time, rng.IntN(20))
			for i := range *v {
				(*v)[i] = randomTime(rng)
			}
		},
		Equal: func(a, b *[]time.Time) bool {
			for i := range min(len(*a), len(*b)) {
				if !sameTime((*a)[i], (*b)[i]) {
					return false
				}
			}
			return len(*a) == len(*b)
		},
	}
	t.Run("slice", func(t *testing.T) { cptypestest.Run(t, many) })
	t.Run("replicated", func(t *testing.T) {
		many.Value = func(v *[]time.Time) any { return cptypes.Replicated(v) }
		cptypestest.Run(t, many)
	})
	builtin[time.Duration]("Duration")(t)
	builtin[[]time.Duration]("[]Duration")(t)
}

func TestTimeBytes(t *testing.T) {
	x := time.Unix(-2, 5).In(time.FixedZone("", -3601))
	v := of(t, &x)
	require.Equal(t, cptypes.Desc{Elem: container.Opaque, Type: "time.Time"}, cptypes.DescOf(v))
	var buf bytes.Buffer
	_, err := v.WriteTo(&buf)
	require.NoError(t, err)
	require.Equal(t, []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 5, 0, 0, 0, 0xef, 0xf1, 0xff, 0xff}, buf.Bytes())

	many := []time.Time{time.Unix(1, 2).UTC()}
	buf.Reset()
	_, err = of(t, &many).WriteTo(&buf)
	require.NoError(t, err)
	require.Equal(t, []byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0x80}, buf.Bytes())

	pause := 3 * time.Second
	require.Equal(t, container.Int64, cptypes.DescOf(of(t, &pause)).Elem)
}

// What MarshalBinary refuses or drops, and what is dropped here.
func TestExtremeTimes(t *testing.T) {
	now := time.Now()
	for _, x := range []time.Time{
		time.Unix(math.MaxInt64/2, 999_999_999), time.Unix(math.MinInt64/2, 0), {},
		now.In(time.FixedZone("far", math.MaxInt32)), now.In(time.FixedZone("odd", -59)), now,
	} {
		var y time.Time
		require.NoError(t, transfer(t, of(t, &x), of(t, &y)))
		require.True(t, sameTime(x, y), "%v, %v", x, y)
	}
	var y time.Time
	require.NoError(t, transfer(t, of(t, &now), of(t, &y)))
	require.NotContains(t, y.String(), "m=", "the monotonic clock of another process means nothing")

	x := now.In(time.FixedZone("mad", math.MinInt32))
	many := []time.Time{now, x}
	for _, v := range []cptypes.Value{of(t, &x), of(t, &many)} {
		require.ErrorIs(t, v.(cptypes.Updater).Update(), cptypes.ErrUnsupported)
		n, err := v.WriteTo(&bytes.Buffer{})
		require.Zero(t, n)
		require.ErrorContains(t, err, "-2147483648 seconds east of UTC")
	}
}

func TestManyTimes(t *testing.T) {
	x := make([]time.Time, 10_000) // several buffers
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range x {
		x[i] = randomTime(rng)
	}
	var y []time.Time
	require.NoError(t, transfer(t, of(t, &x), of(t, &y)))
	require.Len(t, y, len(x))
	for i := range x {
		require.True(t, sameTime(x[i], y[i]))
	}
}

func TestCorruptTimes(t *testing.T) {
	var x time.Time
	var many []time.Time
	nanoseconds := append(make([]byte, 8), 0, 0xca, 0x9a, 0x3b, 0, 0, 0, 0) // 10^9
	_, err := of(t, &x).ReadFrom(bytes.NewReader(nanoseconds))
	require.ErrorIs(t, err, cptypes.ErrCorrupt)
	_, err = of(t, &many).ReadFrom(bytes.NewReader(append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, nanoseconds...)))
	require.ErrorIs(t, err, cptypes.ErrCorrupt)
	_, err = of(t, &many).ReadFrom(bytes.NewReader(bytes.Repeat([]byte{0xff}, 8)))
	require.ErrorIs(t, err, cptypes.ErrCorrupt)
	require.True(t, x.IsZero())
	require.Nil(t, many)
}
