package embedded

import (
	"context"
	"os"
	"runtime"
	"time"
)

// defaultSpin is a little more than what a sleeper needs to wake up: who waits
// longer than that has lost no more than twice of it.
const defaultSpin = 50 * time.Microsecond

// spinBudget is how long ranks spin when so many of them share this host: not at
// all unless each has a core. A GOMAXPROCS that was set by hand is what one rank
// shall use, not what the host has.
func spinBudget(ranksOnHost int) time.Duration {
	cores := runtime.NumCPU() // those that this process may run on
	if os.Getenv("GOMAXPROCS") == "" {
		cores = min(cores, runtime.GOMAXPROCS(0)) // less in a container with a quota
	}
	if ranksOnHost > cores {
		return 0
	}
	return defaultSpin
}

// spin looks for messages until r is done, ctx ends, or nothing has happened for the
// budget, and reports whether r is done. With a budget of 0 it looks once.
//
// While somebody spins, the pipes need not ring: arrivals are seen without a
// system call on either side. The last one to stop has every pipe ring again,
// and looks once more.
func (w *wire) spin(ctx context.Context, r *request) bool {
	if w.cfg.Spin <= 0 {
		w.look()
		return r.done()
	}
	w.spinning.Add(1)
	ok := w.spinUntil(ctx, r)
	if w.spinning.Add(-1) == 0 {
		w.rest()
	}
	return ok || r.done()
}

func (w *wire) spinUntil(ctx context.Context, r *request) bool {
	const (
		timeEvery  = 16 // rounds: the clock costs more than a look
		yieldEvery = 64
	)
	end := time.Now().Add(w.cfg.Spin)
	active := false
	for i := 1; ; i++ {
		active = w.look() || active
		if r.done() {
			return true
		}
		if i%timeEvery != 0 {
			continue
		}
		now := time.Now()
		if active {
			end, active = now.Add(w.cfg.Spin), false
		} else if now.After(end) {
			return false
		}
		if i%yieldEvery == 0 {
			if ctx.Err() != nil {
				return false
			}
			runtime.Gosched()
		}
	}
}

// look reads what has arrived and writes what was blocked.
func (w *wire) look() (progress bool) {
	for _, l := range *w.ins.Load() {
		progress = l.look() || progress
	}
	for _, l := range *w.outs.Load() {
		l.look()
	}
	return progress
}

// rest has all pipes ring again.
func (w *wire) rest() {
	for _, l := range *w.ins.Load() {
		l.rest()
	}
	for _, l := range *w.outs.Load() {
		l.rest()
	}
}
