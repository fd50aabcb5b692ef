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
	"github.com/craft-go/craft/internal/logqueue"
)

// deployments run a job: a root after the other, each with daemons and ranks of its own. There is
// more than one if the job may be deployed again (Config.Restarts) and ends by a failure.
type deployments struct {
	plan *plan
	log  logqueue.Logger

	mu     sync.Mutex
	root   *root          // the present one, or the last one
	asked  syscall.Signal // what has asked for the end first; 0: nothing has
	wanted chan struct{}  // closed when asked is set

	lost        error // the first error of output
	lostResults bool  // of standard output
}

func newDeployments(p *plan) (*deployments, error) {
	d := &deployments{plan: p, log: logqueue.New(p.Logger), wanted: make(chan struct{})}
	p.Logger = d.log.Logger // messages of all roots keep their order
	r, err := newRoot(p, nil)
	d.root = r
	return d, err
}

// signal is a signal that this process has got.
func (d *deployments) signal(s syscall.Signal) {
	d.mu.Lock()
	if control.Stops(int(s)) && d.asked == 0 {
		d.asked = s
		close(d.wanted)
	}
	r := d.root
	d.mu.Unlock()
	r.signal(s) // that of a job that has ended counts how often
}

// run returns when no deployment follows, with the exit code and the report of the last one.
func (d *deployments) run(ctx context.Context) (code int, report string, err error) {
	for {
		end := d.root.run(ctx)
		lost := d.root.finish()
		d.lost = cmp.Or(d.lost, lost)
		if errors.Is(lost, ErrAbandoned) {
			d.lost = lost
			return d.root.exitCode(), end.Report, nil
		}
		d.lostResults = d.lostResults || d.root.streams[0].err != nil
		next, why := d.root.sequel()
		if next == nil {
			if why != "" {
				why = "\n" + why
			}
			return d.root.exitCode(), end.Report + why, nil
		}
		delay, when := max(time.Until(d.root.quiet()), d.plan.RestartDelay), ""
		if delay > 0 {
			when = " in " + delay.Round(time.Millisecond).String()
		}
		d.log.Warn(fmt.Sprintf("restart %d of %d: %s; %s%s", next.Restart, d.plan.Restarts, next.Why(), d.root.machine.Where(next), when))
		if code, why := d.wait(ctx, delay); code != 0 {
			return code, why + "\n" + end.Report, nil
		}
		if err := d.deploy(next); err != nil {
			return exitFailed, "", fmt.Errorf("restart %d of %d: %w", next.Restart, d.plan.Restarts, err)
		}
	}
}

// wait returns when the next deployment may begin, after a delay. The code is not 0 if none is to follow.
func (d *deployments) wait(ctx context.Context, delay time.Duration) (code int, why string) {
	due := time.NewTimer(delay)
	defer due.Stop()
	select {
	case <-due.C:
	case <-d.wanted:
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.asked != 0:
		return 128 + int(d.asked), fmt.Sprintf("%v before the job was deployed again", d.asked)
	case ctx.Err() != nil:
		return exitFailed, "the job was cancelled before it was deployed again: " + context.Cause(ctx).Error()
	}
	return 0, ""
}

// deploy makes the next root. A signal that has come since wait is for that.
func (d *deployments) deploy(past *control.Past) error {
	r, err := newRoot(d.plan, past)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.root = r
	asked := d.asked
	d.mu.Unlock()
	if asked != 0 {
		r.signal(asked)
	}
	return nil
}
