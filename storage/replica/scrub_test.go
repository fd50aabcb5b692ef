package replica_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/replica"
)

// TestScrubBandwidth: a Scrub looks at no more than the bytes of its first second and so many in each one after it, and
// is not slower than that.
func TestScrubBandwidth(t *testing.T) {
	sh := shape{n: 100, size: 10_000}
	for _, perSecond := range []int{0, 300, 40_000, 1 << 20} {
		synctest.Test(t, func(t *testing.T) {
			s, err := replica.Open(t.Context(), comm.Self(), t.Name(), replica.Options{Copies: 1, RangeBytes: 20_000, Log: quiet})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			require.NoError(t, s.Submit(t.Context(), sh.blocks(1, 1, 0)))
			s.Spoil(99)
			began := time.Now()
			damaged, err := s.Scrub(t.Context(), perSecond)
			took := time.Since(began)
			require.NoError(t, err)
			require.Equal(t, 1, damaged)
			want := 0.0
			if perSecond > 0 {
				want = max(float64(1_000_000-perSecond)/float64(perSecond), 0)
			}
			require.InDelta(t, want, took.Seconds(), 1e-3+want/1000, "%d bytes a second", perSecond)
		})
	}
}
