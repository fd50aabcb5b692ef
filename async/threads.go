package async

import (
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// Threads gives background work OS threads of its own.
type Threads struct {
	cpus []int
	used atomic.Int64 // ns of processor time
	log  *slog.Logger
}

// NewThreads returns threads that are bound to the given processors; none: they
// are not bound. It returns an error that matches ErrCPUList if this process may
// not run on one of them, or if the system cannot bind threads.
func NewThreads(cpus []int, log *slog.Logger) (*Threads, error) {
	t := &Threads{cpus: cpus, log: log}
	if len(cpus) == 0 {
		return t, nil
	}
	allowed, err := affinity()
	if err != nil {
		return nil, fmt.Errorf("async: %w: %s: %w", ErrCPUList, formatCPUs(cpus), err)
	}
	for _, c := range cpus {
		if !slices.Contains(allowed, c) {
			return nil, fmt.Errorf("async: %w: processor %d is not one that this process may use: %s", ErrCPUList, c, formatCPUs(allowed))
		}
	}
	return t, nil
}

// Do runs body on the calling goroutine, which keeps its thread to itself
// meanwhile. A bound thread ends with the goroutine. Within body, Do is not called on
// the same goroutine.
func (t *Threads) Do(body func()) {
	runtime.LockOSThread()
	if len(t.cpus) == 0 {
		defer runtime.UnlockOSThread()
	} else if err := bind(t.cpus); err != nil {
		t.log.Warn("writer thread not bound to its processors", "processors", formatCPUs(t.cpus), "error", err)
	}
	before := threadTime()
	defer func() { t.used.Add(int64(threadTime() - before)) }()
	body()
}

// Bound is the number of processors that the threads are bound to; 0: they are not.
func (t *Threads) Bound() int { return len(t.cpus) }

// Used is the processor time that all ended Do calls took; 0 where the system
// does not tell.
func (t *Threads) Used() time.Duration { return time.Duration(t.used.Load()) }
