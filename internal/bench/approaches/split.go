package main

import (
	"fmt"
	"time"

	"github.com/craft-go/craft/internal/timeline"
)

// part is one of the parts of a job's time.
type part int

const (
	application part = iota // what the others leave
	writing
	recovery
	reading
	redone
	parts
)

var partNames = [parts]string{"application", "writing checkpoints", "recovery", "reading", "redone work"}

// times are those of one job in seconds.
type times struct {
	total float64
	part  [parts]float64
}

// split divides the time of a job, whose ranks have noted what happened, as doc.go says. There is at most one
// failure in it.
func split(total time.Duration, all []timeline.Event, ranks int) (t times, err error) {
	t.total = total.Seconds()
	last := 0
	for _, e := range all {
		last = max(last, e.Epoch)
	}
	kill, killed := firstKill(all)
	if !killed && last > 0 {
		return t, fmt.Errorf("the job was recovered without the failure of one that was meant to fail")
	}
	for epoch := range last {
		t.part[writing] += written(all, epoch, kill.At)
	}
	t.part[writing] += written(all, last, time.Time{})
	if killed {
		if last == kill.Epoch {
			return t, fmt.Errorf("rank %d was to be killed after iteration %d, and no attempt has followed", kill.Rank, kill.Iteration)
		}
		if err := t.after(kill, all, last, ranks); err != nil {
			return t, err
		}
	}
	t.part[application] = t.total
	for p := writing; p < parts; p++ {
		t.part[application] -= t.part[p]
	}
	return t, nil
}

// after fills in what follows a failure, until the job is where it was then. The last attempt is
// the one that gets there: what was between, if that failed too, is recovery.
func (t *times) after(kill timeline.Event, all []timeline.Event, last, ranks int) error {
	entered, err := allRanks(all, last, timeline.Entered, 0, ranks)
	if err != nil {
		return err
	}
	restored, err := allRanks(all, last, timeline.Restored, -1, ranks)
	if err != nil {
		return err
	}
	again, err := allRanks(all, last, timeline.Done, kill.Iteration, ranks)
	if err != nil {
		return err
	}
	read := restored[0].Read
	var rewritten time.Duration
	for i := range ranks {
		read = min(read, restored[i].Read)
		rewritten = max(rewritten, again[i].Written)
	}
	t.part[recovery] = latest(entered).Sub(kill.At).Seconds()
	t.part[reading] = read.Seconds()
	t.part[redone] = (latest(again).Sub(latest(entered)) - read - rewritten).Seconds()
	return nil
}

// firstKill is the earliest one: when a node is killed several of its ranks may have tried to.
func firstKill(all []timeline.Event) (first timeline.Event, found bool) {
	for _, e := range all {
		if e.What == timeline.Killed && (!found || e.At.Before(first.At)) {
			first, found = e, true
		}
	}
	return first, found
}

// written is how long the rank that has waited longest in an attempt until then has waited for its versions; until
// zero: to its end. The others have waited for that one in their next iterations.
func written(all []timeline.Event, epoch int, until time.Time) (seconds float64) {
	for _, e := range all {
		if e.Epoch == epoch && (until.IsZero() || !e.At.After(until)) {
			seconds = max(seconds, e.Written.Seconds())
		}
	}
	return seconds
}

// allRanks are the events of a kind in an attempt, and of an iteration unless that is negative: one of each rank.
func allRanks(all []timeline.Event, epoch int, what string, iteration, ranks int) (found []timeline.Event, err error) {
	known := make(map[int]bool)
	for _, e := range all {
		if e.Epoch == epoch && e.What == what && (iteration < 0 || e.Iteration == iteration) && !known[e.Rank] {
			known[e.Rank] = true
			found = append(found, e)
		}
	}
	if len(found) != ranks {
		return nil, fmt.Errorf("%d of %d ranks have noted %q in attempt %d (iteration %d)", len(found), ranks, what, epoch, iteration)
	}
	return found, nil
}

func latest(events []timeline.Event) (t time.Time) {
	for _, e := range events {
		if e.At.After(t) {
			t = e.At
		}
	}
	return t
}
