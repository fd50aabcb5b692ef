package main

import (
	"fmt"
	"sync"
	"time"
)

const progressEvery = 200 * time.Millisecond

// progress is the line that shows on a terminal how far a verification is.
type progress struct {
	p     *program
	total int64
	start time.Time
	stop  chan struct{}
	ended sync.WaitGroup

	mu   sync.Mutex
	done int64 // bytes of the versions before the current one
	at   target
	base int64 // bytes that the current checkpoint had read when it was entered
}

// startProgress starts the line; without a terminal there is none.
func (p *program) startProgress(targets []target) *progress {
	b := &progress{p: p, start: p.now(), stop: make(chan struct{})}
	for _, t := range targets {
		if t.read {
			b.total += t.v.Bytes
		}
	}
	if p.progress && b.total > 0 {
		b.ended.Go(b.loop)
	}
	return b
}

// enter says which version is next.
func (b *progress) enter(t target) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at.c != nil && b.at.read {
		b.done += b.at.v.Bytes
	}
	b.at, b.base = t, t.c.Read.Load()
}

// end waits until the line is gone.
func (b *progress) end() {
	close(b.stop)
	b.ended.Wait()
}

func (b *progress) loop() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			fmt.Fprint(b.p.stderr, "\r\x1b[K")
			return
		case <-tick.C:
			fmt.Fprint(b.p.stderr, "\r", b.line(), "\x1b[K")
		}
	}
}

func (b *progress) line() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at.c == nil {
		return ""
	}
	// Headers and indexes are read more than once.
	done := b.done + min(b.at.c.Read.Load()-b.base, b.at.v.Bytes)
	rate := float64(done) / max(b.p.now().Sub(b.start).Seconds(), 1e-3)
	return fmt.Sprintf("%3d %%  %s of %s  %s/s  %s version %d", 100*done/b.total,
		roundedBytes(done), roundedBytes(b.total), roundedBytes(int64(rate)), printable(b.at.c.Name), b.at.v.ID.Version)
}
