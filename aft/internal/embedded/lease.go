package embedded

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/suspend"
)

// lease is the right of this process to act as a rank. It is renewed by answers
// to its signs of life, and counts from when the answered one was sent. A process
// that was stopped for longer than a lease has lost it, whatever answers it finds
// when it goes on.
//
// Clocks stand still while the host sleeps. Where the root is on another host, sleep
// counts for what the lease permits, and not for when the process ends itself:
// whether the root has given it up meanwhile is what the next answer, or none, says.
type lease struct {
	timing control.Timing
	now    func() time.Time
	slept  func() time.Duration // in all; where the root sleeps too: 0

	mu      sync.Mutex
	seq     uint64
	sent    map[uint64]moment
	expires time.Time
	woken   bool          // expires is nobody's word until there is an answer
	asked   time.Duration // how long the host had slept when the lease was asked for
	renewed chan struct{} // closed when it is renewed
	awake   time.Time     // when keep last ran
}

// moment is a time, and how long the host had slept until then.
type moment struct {
	at    time.Time
	slept time.Duration
}

func newLease(s control.Setup) *lease {
	slept := suspend.Total
	if !s.Remote {
		slept = func() time.Duration { return 0 }
	}
	return startLease(s.Timing, time.Now, slept)
}

func startLease(t control.Timing, now func() time.Time, slept func() time.Duration) *lease {
	l := &lease{timing: t, now: now, slept: slept, sent: make(map[uint64]moment), renewed: make(chan struct{})}
	l.begin()
	return l
}

// begin has the lease count from now.
func (l *lease) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked, l.awake = l.slept(), l.now()
	l.expires = l.awake.Add(l.timing.Lease)
}

// wake is begin for a process that nobody has watched until now: its node may have been given up
// meanwhile, and it permits nothing before the first answer.
func (l *lease) wake() {
	l.begin()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.woken = true
}

// check returns driver.ErrFenced when the lease has expired. After a sleep of the host
// it waits for an answer of the root.
func (l *lease) check() error {
	for {
		unsure, err := l.permits()
		if err != nil || unsure == nil {
			return err
		}
		select {
		case <-unsure:
		case <-time.After(l.timing.Period): // it may expire
		}
	}
}

// permits reports whether this process may act: if it is not known until the lease is
// renewed, unsure is closed then.
func (l *lease) permits() (unsure <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if err := l.checkAt(now); err != nil {
		return nil, err
	}
	if l.woken || now.Add(l.slept()-l.asked).After(l.expires) {
		return l.renewed, nil
	}
	return nil, nil
}

func (l *lease) checkAt(now time.Time) error {
	if stopped := now.Sub(l.awake); stopped > l.timing.Lease {
		return fmt.Errorf("%w: it was stopped for %v", driver.ErrFenced, stopped.Round(time.Millisecond))
	}
	if now.After(l.expires) {
		return fmt.Errorf("%w: its node has not been heard of for %v", driver.ErrFenced, l.timing.Lease)
	}
	return nil
}

// next is the number of a new sign of life, which is sent now.
func (l *lease) next() (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slept := l.slept() // first: what it sleeps from now on counts
	now := l.now()
	if err := l.checkAt(now); err != nil {
		return 0, err
	}
	l.awake = now
	l.seq++
	l.sent[l.seq] = moment{now, slept}
	maps.DeleteFunc(l.sent, func(_ uint64, m moment) bool { return now.Sub(m.at) > l.timing.Lease })
	return l.seq, nil
}

// renew takes an answer.
func (l *lease) renew(p control.Pulse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, known := l.sent[p.Seq]
	if !known {
		return
	}
	if until := m.at.Add(min(p.Left, l.timing.Lease)); l.woken || !until.Before(l.expires) {
		l.expires, l.asked, l.woken = until, m.slept, false
		close(l.renewed)
		l.renewed = make(chan struct{})
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
