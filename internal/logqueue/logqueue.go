// Package logqueue lets those log who must not wait: what they say is written by
// a goroutine, as fast as it is taken. A terminal that was stopped (Ctrl-S), a full
// pipe or a file system that does not answer then hold up lines, and no decisions.
package logqueue

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// most is how many messages wait; further ones are dropped, and counted.
const most = 1000

// Logger is a logger whose methods do not wait for its output. It needs no end:
// there is a goroutine only while messages wait.
type Logger struct {
	*slog.Logger

	q *queue
}

// New returns a logger in front of to, or one that is such a logger already.
// Messages keep their order.
func New(to *slog.Logger) Logger {
	if h, ok := to.Handler().(handler); ok {
		return Logger{to, h.q}
	}
	q := &queue{base: to.Handler()}
	return Logger{slog.New(handler{q.base, q}), q}
}

// Flush returns when everything is written, or after limit (0: none).
func (l Logger) Flush(limit time.Duration) {
	l.q.mu.Lock()
	idle := l.q.idle
	l.q.mu.Unlock()
	if idle == nil {
		return
	}
	var late <-chan time.Time
	if limit > 0 {
		late = time.After(limit)
	}
	select {
	case <-idle:
	case <-late:
	}
}

// queue is what waits, whatever attributes it was logged with.
type queue struct {
	base slog.Handler

	mu      sync.Mutex
	waiting []func()
	dropped int           // since those that wait
	idle    chan struct{} // closed when nothing waits any more; nil: nothing does
}

func (q *queue) add(write func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= most {
		q.dropped++
		return
	}
	q.waiting = append(q.waiting, write)
	if q.idle == nil {
		q.idle = make(chan struct{})
		go q.write() // ends when nothing waits
	}
}

func (q *queue) write() {
	q.mu.Lock()
	for len(q.waiting) > 0 {
		batch, dropped := q.waiting, q.dropped
		q.waiting, q.dropped = nil, 0
		q.mu.Unlock()
		for _, write := range batch {
			write()
		}
		if ctx := context.Background(); dropped > 0 && q.base.Enabled(ctx, slog.LevelWarn) {
			r := slog.NewRecord(time.Now(), slog.LevelWarn, "messages were dropped, as they were not taken as fast as they came", 0)
			r.Add("count", dropped)
			_ = q.base.Handle(ctx, r)
		}
		q.mu.Lock()
	}
	close(q.idle)
	q.idle = nil
	q.mu.Unlock()
}

// handler puts records into a queue.
type handler struct {
	slog.Handler

	q *queue
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	h.q.add(func() { _ = h.Handler.Handle(ctx, r) }) // without its error, as a logger does
	return nil
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.q}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.q}
}
