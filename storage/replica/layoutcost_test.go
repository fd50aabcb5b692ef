package replica

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// failedLayout is that of p seats with a node each, of which f have failed one after the other.
func failedLayout(rng *rand.Rand, p, f int, o Options) *layout {
	places, err := NewPlaces(eachOwn(p), o.Copies, false)
	if err != nil {
		panic(err)
	}
	submitted := make([]Range, p)
	for s := range submitted {
		submitted[s] = Even(int64(p), p, s)
	}
	l := newLayout(places, newGeometry(int64(p), 8, 1, submitted), o)
	for _, seat := range rng.Perm(p)[:f] {
		l.Changes++ // as change does, which looks at all ranges
		l.Gone[seat] = l.Changes
		l.Living = append(l.Living, p-l.Changes)
	}
	return l
}

// TestPlaceOfACopy: where the copies of a range are is found within r+f steps of its sequence (IV-E), however many ranks there
// are, and in memory that does not depend on them.
func TestPlaceOfACopy(t *testing.T) {
	rng := testseed.Rand(t)
	for _, probe := range []Probe{ProbeA, ProbeB} {
		for _, p := range []int{64, 1000, 24_576} {
			for _, f := range []int{0, 1, 7, 40} {
				const r = 4
				l := failedLayout(rng, p, f, Options{Copies: r, Probe: probe, Seed: rng.Uint64()})
				what := fmt.Sprintf("probe %v, %d ranks of which %d have failed", probe, p, f)
				moved := 0
				for range 200 {
					q := rng.Int64N(int64(p))
					var sequence []Seat
					for k := range uint64(r + f) {
						sequence = append(sequence, l.probe.sequence(q)(k))
					}
					for k, c := range l.copies(nil, q) {
						if first := l.places.Copy(l.Slot(q), k); first != c.seat {
							moved++
							require.Contains(t, sequence, c.seat, "%s: range %d, copy %d", what, q, k)
						}
					}
				}
				room := make([]copyAt, 0, r)
				require.LessOrEqual(t, testing.AllocsPerRun(20, func() { l.copies(room[:0], rng.Int64N(int64(p))) }), 4.0, what)
				require.Equal(t, f > 0 && p == 64, moved > 0 && p == 64, what)
			}
		}
	}
}
