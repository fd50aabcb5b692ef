package deadline

import (
	"context"
	"time"
)

// How often and how long sources are asked.
const (
	limitInterval   = 3 * time.Minute // squeue and qstat cost the server of the whole cluster something
	nearInterval    = 30 * time.Second
	queueTimeout    = 30 * time.Second
	passedTimeout   = 5 * time.Second // a start waits for it
	commandTimeout  = 10 * time.Second
	metadataTimeout = 5 * time.Second
)

// source is what may know of an end.
type source struct {
	name    string
	every   time.Duration // how long after an answer it is asked again; 0: never
	timeout time.Duration
	// ask is called once at a time. An error is warned of; a nil answer is that nothing new is
	// known, with an error or without.
	ask func(context.Context) (*answer, error)
}

// answer is what a source knows.
type answer struct {
	at time.Time // with a monotonic reading; zero: there is no end
	by string    // who says so

	unsaid bool // at is what the grace leaves
	notice bool // it is this machine that goes away
}

// none is the answer that there is no end.
var none = &answer{}

func constant(name string, at time.Time) source {
	return source{name: name, timeout: time.Minute, ask: func(context.Context) (*answer, error) {
		return &answer{at: at, by: name}, nil
	}}
}

// clock converts times of day, and knows those that were converted.
type clock struct {
	wall func() time.Time // the time of day, in the local zone
}

// at is the moment of a time of day on the monotonic clock, as the time of day is now.
func (c clock) at(t time.Time) time.Time {
	now := c.wall().Round(0) // without a monotonic reading, which t may have, too
	return time.Now().Add(t.Round(0).Sub(now))
}

// moment is the same of what somebody has said, and was heard at a moment.
func (c clock) moment(m moment, heard time.Time) time.Time {
	if m.time.IsZero() {
		return heard.Add(m.left)
	}
	return c.at(m.time)
}

// memo keeps what a text was converted to: the same text, heard again, is the same moment.
type memo struct {
	text string
	when time.Time
}

func (m *memo) at(text string, convert func() time.Time) time.Time {
	if m.when.IsZero() || m.text != text {
		m.text, m.when = text, convert()
	}
	return m.when
}
