package comm

import (
	"context"
	"time"
)

// watchEvery is how often WhenFailed looks.
const watchEvery = 2 * time.Millisecond

// WhenFailed calls f once when a process of c is known to have failed, and returns
// then or when ctx ends. It is for waiting that a failure must cut short.
func WhenFailed(ctx context.Context, c Comm, f func()) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for len(Failed(c)) == 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	f()
}
