package checkpoint

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint/internal/trigger"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// pacing says at which calls a version is written. With several ranks that must be the same calls on all of
// them, and their clocks do not say the same: rank 0 decides, and tells the others at meetings. All know at which
// call the next one is, so that all other calls say nothing and wait for nobody.
type pacing struct {
	*core
	line *lineage
	acc  *accounts

	rules    trigger.Rules
	ordered  storage.Policy // the levels that Auto decides about; nil: they go by their periods
	own      *pace          // nil: it was not asked for, or nothing goes by time
	met      *meeting       // in this call
	entered  time.Duration  // this call
	held     bool           // a version was due that could not be restored
	counted  time.Duration  // of WriterCPU
	warned   bool           // that nothing makes a version due
	logged   trigger.Plan
	observed container.AttemptID // whose records are known
	chosen   atomic.Pointer[choice]
}

// choice are the levels that Auto has chosen for versions from a number on.
type choice struct {
	from   uint64
	levels storage.Levels
}

func newPacing(c *core, line *lineage, acc *accounts) *pacing {
	p := &pacing{core: c, line: line, acc: acc}
	p.rules, _ = c.opt.rules() // validated
	if policy, _ := c.opt.policy(); p.rules.Auto && c.leveled() {
		p.ordered = slices.Clone(policy)
		slices.SortStableFunc(p.ordered, func(a, b storage.Period) int { return cmp.Compare(a.Every, b.Every) })
	}
	return p
}

// pace is what lasts from one attempt to the next, and from one checkpoint of a name to the next.
type pace struct {
	schedule *trigger.Schedule
	config   string // of the schedule
	clock    time.Time
	epoch    int
	calls    int     // in this epoch
	next     int     // at which the ranks meet
	strange  bool    // they have not met in this epoch
	sharing  float64 // processors that the program loses when one is taken from it

	failures trigger.Failures
	counted  time.Duration // when that was
	repairs  int           // by then

	last   time.Duration // the last call, or meeting, that was looked at
	calls0 int           // by then
	waited time.Duration // in the checkpoint's calls by then
	step   time.Duration // how long the program's steps take
	ask    time.Duration // how long a meeting takes
	failed int           // the call in which a version has
}

type paceKey struct{ dir string }

func (k paceKey) String() string { return "pace of the checkpoint in " + k.dir }

var _ comm.Keeper = (*pace)(nil)

// Rebind implements comm.Keeper.
func (*pace) Rebind(*comm.Comm, comm.Change) error { return nil }

// Close implements comm.Keeper.
func (*pace) Close() error { return nil }

func (k *pace) now() time.Duration { return time.Since(k.clock) }

// pace is what this rank knows, from the moment on from which something is at risk; nil: nothing goes by time.
func (p *pacing) pace() *pace {
	if p.own != nil || !p.rules.Timed() {
		return p.own
	}
	repairs, _ := p.comm.Session().Recovered()
	fresh := func() (*pace, error) {
		return &pace{clock: time.Now(), sharing: 1 / float64(runtime.GOMAXPROCS(0)), repairs: repairs}, nil
	}
	k, err := comm.Keep(p.line.outermost().comm.Session(), paceKey{p.dir()}, fresh)
	if err != nil { // the session has ended
		k, _ = fresh()
	}
	p.own = k
	now := k.now()
	levels := autoLevels(p.ordered)
	if config := fmt.Sprint(p.rules, p.opt.MaxLoss, levels); k.schedule == nil || k.config != config {
		var learned trigger.Learned
		if k.schedule != nil {
			learned = k.schedule.Learned()
		}
		k.config, k.schedule = config, trigger.NewSchedule(trigger.Config{Rules: p.rules, Levels: levels, MaxLoss: p.opt.MaxLoss}, learned)
	}
	if k.waited = p.acc.stats.CheckpointTime; !k.schedule.Started() || k.epoch != repairs {
		k.epoch, k.calls, k.next, k.strange = repairs, 0, 1, true
		k.last, k.calls0 = now, 0
		k.schedule.Start(now)
	}
	p.observe(now)
	return k
}

// due says whether a version is to be written in this call. It is collective.
func (p *pacing) due(ctx context.Context, iter, freq int) (bool, error) {
	p.met = nil
	k := p.pace()
	if k != nil {
		k.calls++
	}
	if p.opt.Frequency != "" && p.root() {
		p.tellReplaced(freq)
	}
	byCall := freq > 0 && p.opt.Frequency == ""
	switch {
	case byCall && iter%freq == 0, p.rules.Iteration(iter):
		if k != nil {
			p.entered = k.now()
		}
		return true, nil
	case k != nil:
		return p.dueByTime(ctx, k)
	case !byCall && p.rules.None() && !p.warned:
		p.warned = true
		p.rootLog.Info("the frequency is 0 and there are no triggers: UpdateAndWrite writes nothing by itself")
	}
	return false, nil
}

func (p *pacing) dueByTime(ctx context.Context, k *pace) (bool, error) {
	if p.held = p.held && p.line.unreachable(); p.held {
		return false, nil
	}
	if p.comm.Size() > 1 {
		if k.calls < k.next {
			return false, nil
		}
		p.entered = k.now()
		err := p.meet(ctx, false)
		return err == nil && p.met.Write, err
	}
	p.entered = k.now()
	gap := k.since(p.entered, p.acc.stats.CheckpointTime)
	k.step = max(gap, k.step-k.step/8) // a long one may come again
	return k.schedule.Due(p.entered, k.step), nil
}

// since is how long a step has taken since it was last asked.
func (k *pace) since(now, waited time.Duration) time.Duration {
	gap := (now - k.last - (waited - k.waited)) / time.Duration(max(k.calls-k.calls0, 1))
	k.last, k.waited, k.calls0 = now, waited, k.calls
	return max(gap, 0)
}

// meeting is what rank 0 has decided.
type meeting struct {
	Write bool
	Level int // that the version is due for
	Next  int // calls until the next meeting
}

// shortestAsk is what a meeting is taken to cost at least: rank 0 alone need not wait in it.
const shortestAsk = 20 * time.Microsecond

// meet tells all ranks what rank 0 decides: about the version that is written in this call, or whether there is to be
// one. It is collective.
func (p *pacing) meet(ctx context.Context, write bool) error {
	k := p.own
	if k.strange {
		if err := p.exchange(ctx); err != nil {
			return err
		}
	}
	now := k.now()
	var m meeting
	if p.root() {
		k.step = k.since(now, p.acc.stats.CheckpointTime)
		if m.Write = write || k.schedule.Due(now, k.step); m.Write && !p.line.unreachable() {
			m.Level = p.begin(now)
		}
		m.Next = trigger.NextMeeting(k.schedule.Left(now, k.step), k.schedule.Interval(), k.step, k.ask)
	}
	m, err := fromOne(ctx, p.core, 0, m)
	if err != nil {
		return fmt.Errorf("checkpoint %q: whether a version is due: %w", p.name, err)
	}
	rounds := time.Duration(1)
	for n := 1; n < p.comm.Size(); n *= 2 {
		rounds++
	}
	k.ask = max(shortestAsk*rounds, min(k.now()-now, cmp.Or(2*k.ask, time.Hour)))
	p.met, k.next, k.strange = &m, k.calls+max(m.Next, 1), false
	return nil
}

// acquaintance is what a rank tells the others when they first meet.
type acquaintance struct {
	Learned  trigger.Learned
	Failures trigger.Failures
	Host     string
}

// exchange gives all ranks what one has learned: who takes the place of one that has failed knows nothing. It
// is collective.
func (p *pacing) exchange(ctx context.Context) error {
	k := p.own
	host, _ := os.Hostname()
	all, err := fromAll(ctx, p.core, acquaintance{k.schedule.Learned(), k.failures, host})
	if err != nil {
		return fmt.Errorf("checkpoint %q: what was learned of its costs: %w", p.name, err)
	}
	best, here := all[p.comm.Rank()].Learned, 0
	for _, one := range all {
		if one.Learned.Versions() > best.Versions() {
			best = one.Learned
		}
		if one.Failures.Time > k.failures.Time {
			k.failures = one.Failures
		}
		if one.Host == host {
			here++
		}
	}
	k.sharing = min(1, float64(here)/float64(runtime.GOMAXPROCS(0)))
	now := k.now()
	k.schedule.Adopt(now, best)
	k.counted = now
	k.schedule.Seen(now, k.failures)
	return nil
}

// begin notes that a version is begun and returns the level that it is due for.
func (p *pacing) begin(now time.Duration) int {
	p.observe(now)
	f := p.own.failures
	f.Time += now - p.own.counted
	p.own.schedule.Seen(now, f)
	level := p.own.schedule.Begin(now)
	if p.opt.Debug >= 2 {
		p.message("a version is due", "next", p.own.schedule.Interval().String(), "triggers", p.rules.String())
	}
	return level
}

// begins says that a version will be written in this call. It is collective.
func (p *pacing) begins(ctx context.Context) error {
	k := p.pace()
	if k == nil || p.line.unreachable() {
		return nil
	}
	level := 0
	if p.comm.Size() > 1 {
		if p.met == nil || !p.met.Write { // it is demanded
			if err := p.meet(ctx, true); err != nil {
				return err
			}
		}
		level, p.met = p.met.Level, nil
	} else {
		level = p.begin(k.now())
	}
	if p.ordered != nil {
		c := choice{from: p.line.attempt.last + 1}
		for _, period := range p.ordered[:level+1] {
			c.levels = c.levels.With(storage.LevelsOf(period.Level))
		}
		p.chosen.Store(&c)
	}
	return nil
}

// levels is placement.Config.Due.
func (p *pacing) levels(version uint64) storage.Levels {
	if c := p.chosen.Load(); c != nil && version >= c.from {
		return c.levels
	}
	return 0
}

// skipped says that the version that was due could not be restored: it is asked again when one can be.
func (p *pacing) skipped() { p.held = true }

// settled says what became of a version, on all ranks alike.
func (p *pacing) settled(f *flight, err error) {
	k := p.own
	if k == nil {
		return
	}
	cost := f.phases.Update + f.phases.Copy + f.phases.Wait + f.phases.Settle
	if p.writer == nil {
		cost += f.phases.Write
	}
	if p.threads != nil {
		used := p.threads.Used()
		cost += time.Duration(float64(used-p.counted) * k.sharing)
		p.counted = used
	}
	level := 0
	for i, period := range p.ordered {
		if storage.Planned(f.header).Include(storage.LevelsOf(period.Level)) {
			level = i
		}
	}
	p.conclude(k, level, cost, err)
}

// ended says how a call has ended in which a version was due: without one, perhaps.
func (p *pacing) ended(err error) {
	if k := p.own; k != nil && err != nil && k.failed != k.calls {
		p.conclude(k, 0, k.now()-p.entered, err)
	}
}

func (p *pacing) conclude(k *pace, level int, cost time.Duration, err error) {
	k.schedule.Ended(k.now(), level, cost, err == nil)
	if err != nil { // all know of it, and none how long rank 0 will pause
		k.failed, k.next = k.calls, k.calls+1
		return
	}
	p.explain(k.schedule.Plan())
}

// explain says in the log what Auto has decided, when that is notably something else than before.
func (p *pacing) explain(plan trigger.Plan) {
	const enough = 3 // versions: before that it only looks
	if !p.rules.Auto || plan.Samples < enough || !plan.Differs(p.logged) {
		return
	}
	p.logged = plan
	attrs := []any{"interval", plan.Interval.Round(time.Millisecond).String(), "cost", plan.Cost.String(), "versions_measured", plan.Samples,
		"failure_every", plan.MTBF.Round(time.Millisecond).String(), "failure_rate", plan.From()}
	for i, period := range p.ordered {
		attrs = append(attrs, period.Level.Name, plan.Levels[i].Round(time.Millisecond).String())
	}
	if plan.Bounded {
		attrs = append(attrs, "CRAFT_MAX_LOSS", p.opt.MaxLoss.String())
	}
	p.rootLog.Info("versions are written as often as loses the least", attrs...)
}

// observe finds out how often the job fails, as far as this rank can know: from the records of its runs, or from
// what the session remembers, which may be longer.
func (p *pacing) observe(now time.Duration) {
	k, at := p.own, &p.line.attempt
	if p.observed == at.id && at.begun {
		return
	}
	repairs, _ := p.comm.Session().Recovered()
	f := trigger.Failures{Count: k.failures.Count + repairs - k.repairs, Time: k.failures.Time + now - k.counted}
	if at.begun {
		p.observed = at.id
		if told := trigger.Count(p.runs(repairs)); told.Time > f.Time {
			f = told
		}
	}
	k.failures, k.counted, k.repairs = f, now, repairs
	k.schedule.Seen(now, f)
}

// runs are the earlier ones of which there are records, and this one.
func (p *pacing) runs(repairs int) (runs []trigger.Run) {
	at := &p.line.attempt
	process := func(host string, pid int) string { return host + " " + strconv.Itoa(pid) }
	for _, r := range at.before {
		if r.Attempt == hex.EncodeToString(at.id[:]) {
			continue
		}
		end := r.Updated
		if r.Ended != nil {
			end = *r.Ended
		}
		runs = append(runs, trigger.Run{Process: process(r.Host, r.PID), Time: end.Sub(r.Started), Ended: r.Ended != nil, Recoveries: r.Recoveries})
	}
	host, _ := os.Hostname()
	return append(runs, trigger.Run{Process: process(host, os.Getpid()), Time: time.Since(at.started), Recoveries: repairs})
}
