package testtime

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// fake is a test that may fail without failing this one.
type fake struct {
	testing.TB
	failed bool
}

func (*fake) Helper()             {}
func (*fake) Logf(string, ...any) {}
func (f *fake) Fatalf(string, ...any) {
	f.failed = true
	runtime.Goexit()
}

// TestWithin: one miss is forgiven, two are not, and a hit is not repeated.
func TestWithin(t *testing.T) {
	for name, c := range map[string]struct {
		took   []time.Duration
		failed bool
	}{
		"hit":         {[]time.Duration{time.Second}, false},
		"missed once": {[]time.Duration{time.Second + 1, time.Second}, false},
		"missed":      {[]time.Duration{time.Minute, time.Second + 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, calls, done := &fake{TB: t}, 0, make(chan struct{})
				go func() {
					defer close(done)
					Within(f, time.Second, func() { calls++; time.Sleep(c.took[calls-1]) })
				}()
				<-done
				require.Equal(t, c.failed, f.failed)
				require.Equal(t, len(c.took), calls)
			})
		})
	}
}

// TestOthers: the time of other processes is seen, and only theirs.
func TestOthers(t *testing.T) {
	if others() == 0 {
		t.Skip("nobody says here what others use")
	}
	before, began := others(), time.Now()
	for time.Since(began) < 300*time.Millisecond { // this one's own time
	}
	used := others() - before
	require.Less(t, used, time.Duration(runtime.NumCPU())*time.Since(began)) // others may be there
	require.GreaterOrEqual(t, used, -50*time.Millisecond)
}
