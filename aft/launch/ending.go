package launch

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/deadline"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/osstring"
)

// setEnding finds out how the job may end.
func (p *plan) setEnding() (err error) {
	if p.Grace < 0 {
		return fmt.Errorf("--grace %v: it must be positive", p.Grace)
	}
	if r := p.Rehearsal; r != nil && r.After <= 0 {
		return fmt.Errorf("--end-after %v: it must be positive", r.After)
	}
	if p.deadline, err = deadline.FromEnv(os.Getenv); err != nil {
		return err
	}
	p.deadline.Log = p.Logger
	p.Grace = cmp.Or(p.Grace, p.deadline.Grace)
	var codes struct {
		Requeue int `envconfig:"REQUEUE_CODE" default:"75"`
	}
	if err := env.Load(&codes); err != nil {
		return err
	}
	if code := codes.Requeue; !demand.MayRequeue(code) {
		return env.Invalid(requeueVariable, fmt.Sprint(code))
	}
	p.requeueCode = codes.Requeue
	return nil
}

const requeueVariable = env.Prefix + "_REQUEUE_CODE"

// noticeFromHere is CRAFT_NOTICE for daemons, which have other working directories.
func (p *plan) noticeFromHere() string {
	path, is := strings.CutPrefix(os.Getenv(env.Notice), "file:")
	if !is || filepath.IsAbs(path) {
		return ""
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	return env.Notice + "=file:" + path
}

// codeOf is the exit code of a job that a signal ends while no rank runs.
func (p *plan) codeOf(s syscall.Signal, takes demand.Takes) int {
	if takes == demand.TakesEnd && s != syscall.SIGINT {
		return p.requeueCode
	}
	return 128 + int(s)
}

// withoutDeadlines is an environment for ranks: their launcher and their daemon look at what tells of deadlines, and a
// time left counts from the start of the job.
func withoutDeadlines(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == env.Deadline || name == env.Notice
	})
}

// watchDeadline looks for a deadline of the job until stop is called.
func (d *deployments) watchDeadline(ctx context.Context) (stop func()) {
	return watch(ctx, deadline.NewWatcher(d.plan.deadline, d.found, deadline.Job))
}

// watch has a watcher run until stop is called.
func watch(ctx context.Context, w *deadline.Watcher) (stop func()) {
	if w.Idle() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { w.Run(ctx) })
	return func() { cancel(); watching.Wait() }
}

// found takes the earliest deadline, or that there is none any more.
func (d *deployments) found(dl deadline.Deadline) {
	if dl.None() {
		d.log.Info("the job has no deadline any more")
	} else {
		d.log.Info("the job has a deadline", "source", dl.Source, "left", dl.Left.Round(time.Second))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.planned.Source
	d.planned, d.since = dl, time.Now()
	d.askPlanned(d.root, before)
}

// askPlanned tells a root of the deadline, which was said to be another one before; with the lock held.
func (d *deployments) askPlanned(r *root, before string) {
	if before != "" && before != d.planned.Source {
		r.ask(demand.Demand{Cause: demand.Deadline, Source: before, Left: demand.NoLimit, Planned: true})
	}
	if !d.planned.None() {
		left := max(0, d.planned.Left-time.Since(d.since))
		r.ask(demand.Demand{Cause: demand.Deadline, Source: d.planned.Source, Left: left, Planned: true})
	}
}

// ask asks the job for something.
func (r *root) ask(asked demand.Demand) {
	r.do(func(m *control.Root, now time.Time) []control.Action { return m.Ask(now, asked) })
}

// watchNotices looks for what tells that this node goes away, until stop is called.
func (d *daemon) watchNotices() (stop func()) {
	given := osstring.To(d.setup.Env)
	c, err := deadline.FromEnv(func(name string) string {
		for _, kv := range slices.Backward(given) {
			if value, is := strings.CutPrefix(kv, name+"="); is {
				return value
			}
		}
		return os.Getenv(name)
	})
	if err != nil {
		d.log.Error("nobody looks for what tells that this node goes away", "error", err)
		return func() {}
	}
	c.Host, c.Log = strings.TrimSpace(fmt.Sprintf("%s, node %d", c.Host, d.setup.Node)), d.log.Logger
	told := ""
	return watch(context.Background(), deadline.NewWatcher(c, func(dl deadline.Deadline) {
		asked := demand.Demand{Cause: demand.Deadline, Source: cmp.Or(dl.Source, told), Left: max(0, dl.Left), Planned: !dl.Unsaid}
		if dl.None() {
			asked.Left = demand.NoLimit
		}
		told = dl.Source
		d.send(control.Message{Kind: control.KindNotice, Ask: &asked})
	}, deadline.Node))
}
