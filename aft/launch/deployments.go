package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/deadline"
	"github.com/craft-go/craft/internal/logqueue"
)

// deployments run a job: a root after the other, each with daemons and ranks of its own. There is
// more than one if the job may be deployed again (Config.Restarts) and ends by a failure.
type deployments struct {
	plan *plan
	log  logqueue.Logger

	mu      sync.Mutex
	root    *root             // the present one, or the last one
	planned deadline.Deadline // what was found last
	since   time.Time         // when
	asked   syscall.Signal    // what has asked for the end first; 0: nothing has
	wanted  chan struct{}     // closed when asked is set
	unread  bool              // output has met a broken pipe
	gone    chan struct{}     // closed when unread is set

	streams     [2]*printer // of all deployments: one goes on while output of the one before is not taken
	lost        error       // the first error of output
	lostResults bool        // of standard output
}

// outputPatience is how long the next deployment waits for the output of the one before.
const outputPatience = time.Second

func newDeployments(p *plan) (*deployments, error) {
	d := &deployments{plan: p, log: logqueue.New(p.Logger), wanted: make(chan struct{}), gone: make(chan struct{})}
	p.Logger = d.log.Logger // messages of all roots keep their order
	lost := d.outputLost()
	d.streams[0] = newPrinter(p.Stdout, "standard output", p.TagOutput, lost)
	d.streams[1] = newPrinter(p.Stderr, "standard error", p.TagOutput, lost)
	r, err := newRoot(p, nil, d.streams)
	if err != nil {
		_ = cmp.Or(d.streams[0].close(), d.streams[1].close()) // nothing was written
		return nil, err
	}
	d.root = r
	return d, nil
}

// outputLost returns what is done when output of a stream could not be written: the user
// is told the first time, for the job may go on for days. Where the reader has gone it may
// not, as any program, unless this process's signals are no business of the job.
func (d *deployments) outputLost() func(error) {
	var told sync.Once
	return func(err error) {
		told.Do(func() { d.log.Warn("output of the ranks is lost", "error", err) })
		if errors.Is(err, syscall.EPIPE) && !d.plan.NoSignals {
			d.mu.Lock()
			if !d.unread {
				d.unread = true
				close(d.gone)
			}
			r := d.root
			d.mu.Unlock()
			r.readerGone()
		}
	}
}

// signal is a signal that this process has got.
func (d *deployments) signal(s syscall.Signal) {
	d.ask(s).signal(s) // that of a job that has ended counts how often
}

// ask notes a signal that asks for the end, and returns the present root.
func (d *deployments) ask(s syscall.Signal) *root {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked == 0 && d.root.endsBy(s) {
		d.asked = s
		close(d.wanted)
	}
	return d.root
}

// run returns when no deployment follows, with the exit code and the report of the last one.
func (d *deployments) run(ctx context.Context) (code int, report string, err error) {
	defer d.watchDeadline(ctx)()
	defer d.rehearse()()
	for {
		end := d.root.run(ctx)
		defer d.root.abandonInTime(end)() // there is one: after it nothing is deployed again
		if d.lost = d.root.finish(); d.lost != nil {
			return d.root.exitCode(), end.Report, nil
		}
		d.await(outputPatience)
		next, why := d.root.sequel()
		if next == nil {
			if why != "" {
				why = "\n" + why
			}
			d.closeOutput()
			return d.root.exitCode(), end.Report + why, nil
		}
		delay, when := max(time.Until(d.root.quiet()), d.plan.RestartDelay), ""
		if delay > 0 {
			when = " in " + delay.Round(time.Millisecond).String()
		}
		if next.FellBack {
			d.log.Warn("the job has died again and again without getting on: it is deployed once more, and GOES BACK ONE VERSION (--fall-back); nothing is deleted\n"+end.Report, "where", d.root.machine.Where(next)+when)
		} else {
			d.log.Warn(fmt.Sprintf("restart %d of %d: %s; %s%s", next.Restart, d.plan.Restarts, next.Why(), d.root.machine.Where(next), when))
		}
		if code, why := d.wait(ctx, delay); code != 0 {
			d.closeOutput()
			return code, why + "\n" + end.Report, nil
		}
		if err := d.deploy(next); err != nil {
			d.closeOutput()
			return exitFailed, "", fmt.Errorf("restart %d of %d: %w", next.Restart, d.plan.Restarts, err)
		}
	}
}

// await returns when the output so far is written, or after a limit: who has stopped reading for a while need not
// hold up the job.
func (d *deployments) await(limit time.Duration) {
	late := time.After(limit)
	for _, s := range d.streams {
		select {
		case <-s.written():
		case <-d.root.abandoned:
		case <-late:
			return
		}
	}
}

// closeOutput returns when all output and all messages are written, or nobody wants to wait for that.
func (d *deployments) closeOutput() {
	type result struct{ first, results error }
	done := make(chan result, 1)
	go func() { // ends with the printers; after an abandoned job with the process
		results := d.streams[0].close()
		first := cmp.Or(results, d.streams[1].close())
		d.log.Flush(0)
		done <- result{first, results}
	}()
	select {
	case r := <-done:
		d.lost, d.lostResults = r.first, r.results != nil
	case <-d.root.abandoned:
		d.lost = ErrAbandoned
	}
}

// wait returns when the next deployment may begin, after a delay. The code is not 0 if none is to follow.
func (d *deployments) wait(ctx context.Context, delay time.Duration) (code int, why string) {
	due := time.NewTimer(delay)
	defer due.Stop()
	select {
	case <-due.C:
	case <-d.wanted:
	case <-d.gone:
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.asked != 0:
		return d.plan.codeOf(d.asked, d.root.takes(d.asked)), fmt.Sprintf("%v before the job was deployed again", d.asked)
	case d.unread:
		return 128 + int(syscall.SIGPIPE), "nobody reads the output of the ranks any more (broken pipe): the job is not deployed again"
	case ctx.Err() != nil:
		return exitFailed, "the job was cancelled before it was deployed again: " + context.Cause(ctx).Error()
	}
	return 0, ""
}

// deploy makes the next root. A signal that has come since wait is for that, and so is that nobody reads any more.
func (d *deployments) deploy(past *control.Past) error {
	r, err := newRoot(d.plan, past, d.streams)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.root = r
	asked, unread := d.asked, d.unread
	d.askPlanned(r, d.planned.Source)
	d.mu.Unlock()
	if asked != 0 {
		r.signal(asked)
	}
	if unread {
		r.readerGone()
	}
	return nil
}
