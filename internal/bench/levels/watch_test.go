package levels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// What the checkpoint logs when it mends something.
const (
	msgRebuilt  = "a lost part was rebuilt"
	msgHealed   = "redundancy is back"
	msgUnhealed = "redundancy is not back: another loss of a node could cost the version"
)

// watch is a log handler that takes notice of what goes on in the background.
// Warnings go to standard error: a measurement with one means nothing.
type watch struct {
	slog.Handler

	mu      sync.Mutex
	rebuilt time.Duration
	healed  chan error
}

func newWatch() *watch {
	return &watch{Handler: slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}), healed: make(chan error, 1)}
}

func (w *watch) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

func (w *watch) Handle(ctx context.Context, r slog.Record) error {
	switch r.Message {
	case msgRebuilt:
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "took" {
				w.mu.Lock()
				w.rebuilt += a.Value.Duration()
				w.mu.Unlock()
			}
			return true
		})
	case msgHealed:
		w.tell(nil)
	case msgUnhealed:
		w.tell(errors.New(msgUnhealed))
	}
	if w.Handler.Enabled(ctx, r.Level) {
		return w.Handler.Handle(ctx, r)
	}
	return nil
}

func (w *watch) WithAttrs([]slog.Attr) slog.Handler { return w }

func (w *watch) WithGroup(string) slog.Handler { return w }

// begin forgets what has been noticed.
func (w *watch) begin() {
	w.takeRebuilt()
	select {
	case <-w.healed:
	default:
	}
}

func (w *watch) tell(err error) {
	select {
	case w.healed <- err:
	default:
	}
}

// takeRebuilt returns how long this rank has rebuilt files since the last call.
func (w *watch) takeRebuilt() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	took := w.rebuilt
	w.rebuilt = 0
	return took
}

// patience is how long healing may take.
const patience = 5 * time.Minute

func (w *watch) waitHealed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case err := <-w.healed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the redundancy was not back after %v: %w", patience, context.Cause(ctx))
	}
}
