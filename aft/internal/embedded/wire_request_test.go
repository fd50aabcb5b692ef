package embedded

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// What the tests of the wire need to know about requests and receives.

var postedBy sync.Map // *receive -> *posted

func keepPosted(p *posted) { postedBy.Store(&p.receive, p) }

func postedOf(r *receive) *posted {
	p, _ := postedBy.Load(r)
	return p.(*posted)
}

func newTestRequest(peer control.Proc) *request { return &request{peer: int(peer)} }

func completedRequest(r *request) bool { return r.state.Load() == completed }

func sleepOn(t testing.TB, r *request) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wireDeadline)
	defer cancel()
	wake := make(chan struct{}, 1)
	r.wake = wake
	if !r.state.CompareAndSwap(pending, awaited) {
		return
	}
	select {
	case <-wake:
	case <-ctx.Done():
		require.FailNow(t, "the request does not end")
	}
}

func resultOf(r *request) (driver.Status, error) { return r.status, r.err }
