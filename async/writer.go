package async

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

var (
	// ErrBusy is returned when a job is started while another one runs.
	ErrBusy = errors.New("a background job is under way")

	// ErrClosed is returned when a job is started after Close.
	ErrClosed = errors.New("background writer is closed")

	// ErrDrain is the cause of the context of a job that did not end in the time
	// that Close gave it.
	ErrDrain = errors.New("background job cancelled: it did not end in time")

	// ErrHangs is returned by Close when a job does not end although it was
	// cancelled: it hangs in the operating system.
	ErrHangs = errors.New("background job hangs")
)

// Writer runs one job at a time in a goroutine.
type Writer struct {
	threads *Threads
	ctx     context.Context
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	ticket *Ticket // of the last job
	closed bool
}

// NewWriter returns a writer whose jobs run on threads. Nothing runs before the
// first Start.
func NewWriter(threads *Threads) *Writer {
	w := &Writer{threads: threads}
	w.ctx, w.cancel = context.WithCancelCause(context.Background())
	return w
}

// Ticket stands for a job.
type Ticket struct {
	done chan struct{}
	err  error
}

// Done is closed when the job has ended.
func (t *Ticket) Done() <-chan struct{} { return t.done }

// Ended reports whether it has.
func (t *Ticket) Ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// Err is the job's error, once it has ended.
func (t *Ticket) Err() error { return t.err }

// Wait waits for the job and returns its error. When ctx ends first, it returns
// the context's cause and the job goes on.
func (t *Ticket) Wait(ctx context.Context) error {
	if t.Ended() {
		return t.err
	}
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// PanicError is the error of a job that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// Start starts a job. Its context ends only when Close gives up on it.
func (w *Writer) Start(job func(ctx context.Context) error) (*Ticket, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, fmt.Errorf("async: %w", ErrClosed)
	}
	if w.ticket != nil && !w.ticket.Ended() {
		return nil, fmt.Errorf("async: %w", ErrBusy)
	}
	t := &Ticket{done: make(chan struct{})}
	w.ticket = t
	go func() {
		defer close(t.done)
		w.threads.Do(func() { t.err = w.run(job) })
	}()
	return t, nil
}

// run turns a panic into an error: it must not take down a program whose own
// goroutines are all right.
func (w *Writer) run(job func(ctx context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return job(w.ctx)
}

// hangAfter is how long Close waits for a job that it has cancelled.
const hangAfter = 10 * time.Second

// Close waits for the job that runs, at most for drain; then it cancels it and
// waits for its end. The job's own error is not returned. Further calls do
// nothing.
func (w *Writer) Close(drain time.Duration) error {
	w.mu.Lock()
	t := w.ticket
	closed := w.closed
	w.closed = true
	w.mu.Unlock()
	defer w.cancel(ErrDrain)
	if t == nil || closed || endsWithin(t, drain) {
		return nil
	}
	w.cancel(ErrDrain)
	if !endsWithin(t, hangAfter) {
		return fmt.Errorf("async: %w: it did not end within %v, nor within %v after it was cancelled", ErrHangs, drain, hangAfter)
	}
	return nil
}

func endsWithin(t *Ticket, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	_ = t.Wait(ctx) // the job's own error, or that of ctx
	return t.Ended()
}
