package embedded

import (
	"fmt"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/control"
)

// lease is the right of this process to act as a rank. It is renewed by answers
// to its signs of life, and counts from when the answered one was sent. A process
// that was stopped for longer than a lease has lost it, whatever answers it finds
// when it goes on.
type lease struct {
	timing control.Timing

	mu      sync.Mutex
	seq     uint64
	sent    map[uint64]time.Time
	expires time.Time
	awake   time.Time // when keep last ran
}

func newLease(t control.Timing) *lease {
	now := time.Now()
	return &lease{timing: t, sent: make(map[uint64]time.Time), expires: now.Add(t.Lease), awake: now}
}

// check returns comm.ErrFenced when the lease has expired.
func (l *lease) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.checkAt(time.Now())
}

func (l *lease) checkAt(now time.Time) error {
	if asleep := now.Sub(l.awake); asleep > l.timing.Lease {
		return fmt.Errorf("%w: it was stopped for %v", comm.ErrFenced, asleep.Round(time.Millisecond))
	}
	if now.After(l.expires) {
		return fmt.Errorf("%w: its node has not been heard of for %v", comm.ErrFenced, l.timing.Lease)
	}
	return nil
}

// next is the number of a new sign of life, which is sent now.
func (l *lease) next() (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if err := l.checkAt(now); err != nil {
		return 0, err
	}
	l.awake = now
	l.seq++
	l.sent[l.seq] = now
	for seq, at := range l.sent {
		if now.Sub(at) > l.timing.Lease {
			delete(l.sent, seq)
		}
	}
	return l.seq, nil
}

// renew takes an answer.
func (l *lease) renew(p control.Pulse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, known := l.sent[p.Seq]
	if !known {
		return
	}
	if until := at.Add(min(p.Left, l.timing.Lease)); until.After(l.expires) {
		l.expires = until
	}
}

// keep sends signs of life until stop is closed, and calls lost if the lease
// expires.
func (l *lease) keep(pulse func(seq uint64), stop <-chan struct{}, lost func(why string)) {
	ticker := time.NewTicker(l.timing.Period)
	defer ticker.Stop()
	for {
		seq, err := l.next()
		if err != nil {
			lost(err.Error())
			return
		}
		pulse(seq)
		select {
		case <-ticker.C:
		case <-stop:
			return
		}
	}
}
