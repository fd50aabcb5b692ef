package tempo

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// The longest step of the last calls counts, or the present one; what writes, or waits, is none.
func TestSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		step := func(d time.Duration) (longest bool) {
			time.Sleep(d)
			return p.Arrived()
		}
		require.False(t, step(time.Hour), "before the first call there is no step")
		require.True(t, step(time.Second))
		require.False(t, step(time.Second))
		require.True(t, step(3*time.Second))
		time.Sleep(2 * time.Second)
		require.Equal(t, 3*time.Second, p.Needs(0, false).Step)
		time.Sleep(2 * time.Second)
		require.Equal(t, 4*time.Second, p.Needs(0, false).Step, "the present one")
		_, is := p.Called()
		require.True(t, is)
		goOn := p.Pauses()
		_, is = p.Called()
		require.False(t, is)
		time.Sleep(time.Hour)
		goOn()
		require.True(t, step(time.Second), "5 s in all")
		for range 2 * Window {
			require.False(t, step(time.Second))
		}
		require.Equal(t, time.Second, p.Needs(0, false).Step, "that was long ago")
		p.Wrote()
		at, is := p.Called()
		require.True(t, is)
		require.Equal(t, time.Now(), at)
	})
}

func TestNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		n := p.Needs(100e6, false)
		require.Equal(t, Needs{Cost: 3 * time.Second}, n, "guessed, and not what may be on its way")
		require.Equal(t, 6*time.Second, p.Needs(100e6, true).Sum(), "home in addition")
		p.Stored(time.Second, 100*time.Millisecond)
		p.Stored(500*time.Millisecond, 0)
		require.Equal(t, Needs{Cost: 900 * time.Millisecond, Skew: 90 * time.Millisecond, Before: 990 * time.Millisecond}, p.Needs(100e6, false))
		require.Equal(t, 500*time.Millisecond, p.Least())
		id := storage.ID{Version: 3}
		p.Sent(id)
		time.Sleep(2 * time.Second)
		p.Flushed(storage.ID{Version: 2})
		require.Equal(t, 900*time.Millisecond+3*time.Second, p.Needs(100e6, true).Cost, "of another one")
		p.Flushed(id)
		n = p.Needs(100e6, true)
		require.Equal(t, 2900*time.Millisecond, n.Cost)
		require.Equal(t, 2990*time.Millisecond, n.Before)
	})
}

// A warning is for what is new: a step that is twice as long as that of the last one.
func TestTooLong(t *testing.T) {
	p := New()
	n := Needs{Step: 20 * time.Second, Cost: 10 * time.Second}
	require.False(t, p.TooLong(n, 25*time.Second), "nothing was measured")
	p.Stored(n.Cost, 0)
	require.False(t, p.TooLong(n, 30*time.Second))
	require.True(t, p.TooLong(n, 25*time.Second))
	require.False(t, p.TooLong(n, 25*time.Second))
	n.Step = 39 * time.Second
	require.False(t, p.TooLong(n, 25*time.Second))
	n.Step = 40 * time.Second
	require.True(t, p.TooLong(n, 25*time.Second))
}

func TestSaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		require.Zero(t, p.Saving(time.Now()))
		saved := p.SavesUntil()
		require.Positive(t, p.Saving(time.Now()))
		time.Sleep(time.Second)
		require.InDelta(t, time.Second, p.Saving(time.Now()), 1)
		saved()
		require.Zero(t, p.Saving(time.Now()))
	})
}
