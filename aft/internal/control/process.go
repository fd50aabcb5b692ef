package control

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/craft-go/craft/internal/demand"
)

type procState int

const (
	starting procState = iota
	alive              // has said Hello
	failed
	left
)

// process is what the root knows of a process.
type process struct {
	id       Proc
	original Original
	node     *node
	state    procState
	beginning
	contact
	bye bool // takes part no more
	// outlived: since when its program has ended, which has not said so, while it goes on.
	outlived time.Time
	fenced   bool // has been sent a SIGKILL
	settled  settlement
	ending
	presumption
}

// beginning is how a process was started.
type beginning struct {
	ordered   bool      // the order was given
	started   time.Time // when; of a spare rank, when it was woken
	up        time.Time // it was started
	asked     bool      // it was told at its start that the job was asked to end
	discarded bool      // its start turned out not to be needed
	heir      bool      // it has inherited what another one has left, or may
	// after is the process in whose place it was started when no zone was under
	// way, until it is in one: else the job had ended, as after did.
	after *process
}

// contact is where a process can be reached.
type contact struct {
	address   string
	tcp       string
	takes     map[int]demand.Takes // what the program does with signals
	announced bool                 // others know
}

// ending is how a process has ended.
type ending struct {
	code     int  // exit code, as the job's exit code counts it
	signal   int  // 0: it exited by itself
	lost     bool // its node was lost
	panicked bool
	// silenced: it was killed because nothing was heard of it, or it was in doubt.
	silenced bool
	// evicted: its body was in the way of a roll-back.
	evicted bool
	reason  string // for people
	cause   string // the same for the same kind of failure: for the ledger
	died    place
	ended   time.Time
	handled bool      // the job has dealt with its failure
	entered bool      // in the ledger, because it is to be replaced
	due     time.Time // when it may be
}

// presumption is that a process has left, as it seems until patience ends: see presume.
type presumption struct {
	presumed bool
	patience time.Time
	answered bool // its end was taken for the answer to a request to end
	told     bool // what everybody waits for
}

// settlement tells how the last zone has ended for a process that has done
// nothing collective since.
type settlement int

const (
	unsettled settlement = iota
	settledWell
	settledWithError
)

// present: it runs, or will.
func (p *process) present() bool { return p.state == starting || p.state == alive }

// gone: what took part in the job has ended, though the process may go on.
func (p *process) gone() bool { return p.bye || !p.outlived.IsZero() }

// taking reports whether p takes part in collective operations.
func (p *process) taking() bool { return p.state == alive && !p.bye }

func (p *process) fail(reason, cause string, code int) {
	p.end(failed)
	p.reason, p.cause, p.code = reason, cause, max(code, 1)
	if !p.evicted {
		p.node.failures++
	}
}

func (p *process) leave(code int) {
	p.end(left)
	p.code = code
}

// counting are the processes whose ends are the part of p in the job's exit code, the last one first.
func (p *process) counting() []*process {
	switch {
	case p.state == failed && p.handled:
		return nil
	case p.after != nil:
		return []*process{p, p.after}
	}
	return []*process{p}
}

// endedWell: nothing of its part in the job's exit code is a failure, or says what the job is to do next.
func (p *process) endedWell() bool {
	return !slices.ContainsFunc(p.counting(), func(q *process) bool { return q.code != 0 })
}

// lastWords is how it has ended, for the report of the job.
func (p *process) lastWords() string {
	what := p.reason
	if p.state == left {
		what = fmt.Sprintf("exit status %d", p.code)
	}
	return fmt.Sprintf("rank %d (process %d on node %s): %s", p.original, p.id, p.node.Name, what)
}

func byOriginal(a, b *process) int { return cmp.Compare(a.original, b.original) }

func (e Exit) reason() string {
	text := cmp.Or(e.Why, e.cause())
	if e.Panic != "" {
		text += " (" + e.Panic + ")"
	}
	return text
}

func (e Exit) cause() string {
	switch {
	case e.Signal != 0:
		return fmt.Sprintf("signal %d", e.Signal)
	case e.Code < 0:
		return "it could not be started"
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// jobCode is the exit code as a shell counts it.
func (e Exit) jobCode() int {
	switch {
	case e.Signal != 0:
		return 128 + e.Signal
	case e.Code < 0:
		return 1
	}
	return e.Code
}

// only are those of a list that are so; the list stays as it is.
func only[T any](list []T, so func(T) bool) []T {
	var out []T
	for _, p := range list {
		if so(p) {
			out = append(out, p)
		}
	}
	return out
}

// some says of the first of a list what text does, and how many more there are.
func some[T any](list []T, text func(T) string) []string {
	const most = 16
	var out []string
	for _, p := range list[:min(len(list), most)] {
		out = append(out, text(p))
	}
	if more := len(list) - most; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}
