package control

import (
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// forwardedSignal is one of the root for all ranks.
type forwardedSignal struct {
	at time.Time
	// direct: who was started before has got it from the batch system; zero: nobody has.
	direct time.Time
}

// signalledPatience is how long it may take a large batch system to signal all nodes.
const signalledPatience = 10 * time.Second

// Signalled tells that this process has got a signal that is meant for ranks. A batch
// system that ends a job and a machine that shuts down send it to all processes, so the
// ranks have got it as well, and most programs take a second one for impatience: if the
// root forwards it too, that once it is not passed on. Where the root was faster ranks
// get it twice, and the next one all the same.
//
// A signal that the ranks take is a demand, and the same however often it comes: the root hears of it from here.
func (d *Daemon) Signalled(now time.Time, number int) []DaemonAction {
	if !d.ended && d.takeSignal(now, number) {
		return d.take()
	}
	at, known := d.passed[number]
	delete(d.passed, number)
	if !known || now.Sub(at) >= signalledPatience {
		d.everybody[number] = now
	}
	return nil
}

func (d *Daemon) signal(now time.Time, s Signal) {
	var have time.Time // who was started before has got it
	toAll := len(s.Procs) == 0
	if at, known := d.everybody[s.Number]; toAll {
		delete(d.everybody, s.Number)
		if known && now.Sub(at) < signalledPatience {
			have = at
		} else {
			d.passed[s.Number] = now
		}
		d.forwarded[s.Number] = forwardedSignal{now, have}
	}
	for _, p := range d.list() {
		if !p.started.After(have) && !have.IsZero() {
			continue
		}
		if toAll && !p.replaces || slices.Contains(s.Procs, p.id) {
			p.missed.numbers = slices.DeleteFunc(p.missed.numbers, func(n int) bool { return n == s.Number })
			d.kill(p, s.Number, s.Why)
		}
	}
}

// missedSignals are those that a process gets when its body has begun.
type missedSignals struct {
	numbers []int
	due     time.Time // zero: not before the next zone
}

// missedDelay is how long a body may take until it takes signals.
const missedDelay = time.Second

// catchUp has processes that have just got their first communicator get the signals that were
// forwarded while they were started, and those that have asked for the end not long ago.
func (d *Daemon) catchUp(now time.Time, m Message) {
	if m.Made.Op != "" {
		return
	}
	for _, p := range d.recipients(m) {
		signals := slices.Clone(m.Made.Stops)
		for number, f := range d.forwarded {
			if p.replaces && !p.asleep && f.at.After(p.started) {
				signals = append(signals, number)
			}
		}
		first := !p.replaces              // in the first world: it has got what came since it was started
		if p.replaces = false; p.asleep { // it wakes
			p.asleep, p.heard, p.started = false, now, now
		}
		slices.Sort(signals)
		p.missed = missedSignals{due: now.Add(missedDelay), numbers: slices.DeleteFunc(slices.Compact(signals), func(number int) bool {
			f, forwarded := d.forwarded[number]
			return !f.direct.IsZero() && !p.started.After(f.direct) || first && forwarded && f.at.After(p.started)
		})}
	}
}

// behind is what there is still to get behind an operation of the zone: its body runs again, or the
// zone has ended, and there may be another one.
func (m missedSignals) behind(now time.Time, outcome *driver.Outcome) missedSignals {
	if outcome != nil && !outcome.Repair {
		return missedSignals{numbers: m.numbers}
	}
	m.due = now.Add(missedDelay)
	return m
}

// mayDeliver: p has missed something, and is in a body, as far as is known.
func (p *local) mayDeliver() bool {
	return len(p.missed.numbers) > 0 && !p.missed.due.IsZero() && !p.away && !p.bye && !p.outlived
}

// deliver gives a process what it has missed when its body runs: behind a zone may be no code for it.
func (d *Daemon) deliver(now time.Time, p *local) {
	if !p.mayDeliver() || now.Before(p.missed.due) {
		return
	}
	for _, number := range p.missed.numbers {
		d.kill(p, number, "")
	}
	p.missed = missedSignals{}
}
