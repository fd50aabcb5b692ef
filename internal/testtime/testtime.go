// Package testtime is for tests that say how long something may take. A machine that
// others use too may stand still for a moment, so what misses is done once more, alone,
// and both are printed; a defect misses twice. It is for times only: what must be
// right is never tried again.
package testtime

import (
	"testing"
	"time"
)

// Marks calls measure, which returns what has missed its mark (one text each), and
// calls it once more if there is any. A miss on a machine that others keep busy says
// nothing: then the test is skipped, with the reason.
func Marks(t testing.TB, measure func() (missed []string)) {
	t.Helper()
	first := measure()
	if len(first) == 0 {
		return
	}
	t.Logf("missed, and measured again: %q", first)
	before, began := others(), time.Now()
	second := measure()
	busy := (others() - before).Seconds() / time.Since(began).Seconds()
	switch {
	case len(second) == 0:
	case busy > maxBusy:
		t.Skipf("missed again: %q; but others used %.1f processors of this machine meanwhile, which says nothing about the marks", second, busy)
	default:
		t.Fatalf("missed twice: at first %q, then %q", first, second)
	}
}

// maxBusy is how many processors others may use while something is measured.
const maxBusy = 0.3

// Within calls do, which has to return within the limit.
func Within(t testing.TB, limit time.Duration, do func()) {
	t.Helper()
	took := func() time.Duration {
		began := time.Now()
		do()
		return time.Since(began)
	}
	first := took()
	if first <= limit {
		return
	}
	t.Logf("it took %v, at most %v is allowed; once more", first, limit)
	if second := took(); second > limit {
		t.Fatalf("it took %v, then %v; at most %v is allowed", first, second, limit)
	}
}
