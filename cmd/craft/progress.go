package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/progress"

	"github.com/craft-go/craft/storage"
)

const progressEvery = 200 * time.Millisecond

// progress is the line that shows on a terminal how far a verification is.
type progress struct {
	line  pretty.Tracker
	shown pretty.Progress
	ended sync.WaitGroup

	before int64 // bytes of the versions before the current one
	size   int64 // of the current one
	read   atomic.Int64
}

// startProgress starts the line; without a terminal there is none.
func (p *program) startProgress(targets []target) *progress {
	b := &progress{line: pretty.Tracker{AutoStopDisabled: true, RemoveOnCompletion: true, Units: pretty.Units{Formatter: roundedBytes}}}
	for _, t := range targets {
		b.line.Total += t.bytesToRead()
	}
	if !p.progress || b.line.Total == 0 {
		return b
	}
	style := b.shown.Style()
	style.Visibility = pretty.StyleVisibility{Percentage: true, Value: true, Time: true, ETA: true, Speed: true}
	style.Options.PercentFormat, style.Options.Separator = "%3.0f %%", fmt.Sprintf(" of %s: ", roundedBytes(b.line.Total))
	style.Options.ETAString, style.Options.TimeInProgressPrecision = "left", time.Second
	b.shown.SetOutputWriter(p.screen.stderr)
	b.shown.SetUpdateFrequency(progressEvery)
	b.shown.SetAutoStop(true) // where the end comes before the start
	b.shown.AppendTracker(&b.line)
	b.ended.Go(b.shown.Render)
	return b
}

// enter says which version is next.
func (b *progress) enter(t target) {
	b.before += b.size
	b.size = t.bytesToRead()
	b.read.Store(0)
	b.line.UpdateMessage(fmt.Sprintf("%s version %d", printable(t.c.Name), t.v.ID.Version))
	b.line.SetValue(b.before)
	t.c.OnRead = func(bytes int) {
		// Headers and indexes are read more than once.
		b.line.SetValue(b.before + min(b.read.Add(int64(bytes)), b.size))
	}
}

// end waits until the line is gone.
func (b *progress) end() {
	b.line.MarkAsDone()
	b.shown.Stop()
	b.ended.Wait()
}

// waitLine is the line that shows on a terminal how far a job is with what it is asked for.
type waitLine struct {
	line  pretty.Tracker
	shown pretty.Progress
	ended sync.WaitGroup
	shows bool
}

func (j jobs) startWaiting() *waitLine {
	w := &waitLine{line: pretty.Tracker{Message: "the job has not heard of it yet", RemoveOnCompletion: true}, shows: j.p.progress}
	if !w.shows {
		return w
	}
	w.shown.Style().Visibility = pretty.StyleVisibility{Time: true}
	w.shown.Style().Options.TimeInProgressPrecision = time.Second
	w.shown.SetOutputWriter(j.p.screen.stderr)
	w.shown.SetUpdateFrequency(progressEvery)
	w.shown.SetAutoStop(true)
	w.shown.AppendTracker(&w.line)
	w.ended.Go(w.shown.Render)
	return w
}

// state says what the job has answered.
func (w *waitLine) state(a *storage.Answer) {
	if w.shows && a != nil {
		w.line.UpdateMessage("the job has heard of it, and goes on to its next call of a checkpoint")
	}
}

// end waits until the line is gone.
func (w *waitLine) end() {
	if w.shows {
		w.line.MarkAsDone()
		w.shown.Stop()
		w.ended.Wait()
	}
}
