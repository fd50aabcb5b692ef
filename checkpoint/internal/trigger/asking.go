package trigger

import (
	"math"
	"time"
)

// Where one rank decides for all, the others have to know at which call they will hear of it: nothing may be
// said at the others. So it is agreed, each time, after how many calls they meet again.
const (
	// askingShare is the part of the run that it may take.
	askingShare = 1000
	// askingParts is how often in an interval they meet at least: if all steps become 100 times slower right after
	// a meeting, what is due at the end of the interval is not one interval late.
	askingParts = 100
)

// NextMeeting is after how many calls they meet, for what is due after left: at the call at which it will
// be, if steps take as long as they did, or before, so that little is lost if they take longer.
// A meeting costs ask.
func NextMeeting(left, interval, step, ask time.Duration) int {
	gap := min(left, max(interval/askingParts, askingShare*ask))
	return int(min(max(math.Ceil(float64(gap)/float64(max(step, 1))), 1), math.MaxInt32))
}
