package launch

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/logqueue"
)

// TestMessageThatCannotBeSent ends the daemon, or the job: somebody would wait for it.
func TestMessageThatCannotBeSent(t *testing.T) {
	long := control.Message{Kind: control.KindError, Error: &control.Error{Text: strings.Repeat("x", control.MaxMessage)}}
	discard := logqueue.New(slog.New(slog.DiscardHandler))
	box := func() *outbox {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		go func() { _, _ = io.Copy(io.Discard, r) }()
		o := newOutbox(w)
		t.Cleanup(func() { o.close(time.Now()); _ = r.Close() })
		return o
	}

	d := newDaemon(control.Setup{}, box(), discard)
	defer d.starter.close()
	d.perform([]control.DaemonAction{{ToRoot: &long}, {ToRoot: &long}})
	require.NotNil(t, d.end)
	require.Contains(t, d.end.Why, "a message to the root")

	r := &root{plan: &plan{}, log: discard, timer: time.NewTimer(time.Hour), ended: make(chan struct{})}
	r.plan.Timing.Lease = time.Hour // after it nodes are fenced
	r.nodes = map[control.Node]*node{0: {pipes: pipes{box: box()}, spoken: true}}
	r.cutOff = make(map[control.Node]*time.Timer)
	r.perform([]control.Action{{Send: &control.Send{Message: long}}, {Send: &control.Send{Message: long}}})
	require.NotNil(t, r.end)
	require.Contains(t, r.end.Report, "a message to the daemon of node 0")
	for _, cut := range r.cutOff {
		cut.Stop()
	}
}
