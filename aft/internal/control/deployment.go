package control

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// deployment has processes started: the first ones, and those that replace others. It decides
// where and when, and whether another one is started at all.
type deployment struct {
	out     *outbox
	members *membership
	stops   *stopRequests
	cfg     RootConfig
	ledger  ledger

	launched  bool      // the first processes were started
	reported  int       // nodes, before the first one that has not, and is still to
	joinDue   time.Time // when those that have not joined are named; zero: none has joined
	joinNamed bool
	retry     time.Time // when a replacement that has to wait is due; zero: there is none
	warned    bool      // that no spare node is left
	spare     spareRanks
}

// replace has a process take the place of p, which has failed: a spare rank, or one that is to be
// started. It returns nil when that has to wait, or the job has been ended instead.
func (d *deployment) replace(now time.Time, p *process, policy driver.SpawnPolicy, epoch int) *process {
	if !p.entered && !d.enter(now, p, epoch) {
		return nil
	}
	if now.Before(p.due) {
		d.postpone(p.due)
		return nil
	}
	if q := d.takeSpare(now, p, policy); q != nil {
		return q
	}
	n := d.place(p, policy)
	if n == nil && (jobCode{d.members}).endAsked([]*process{p}) {
		return nil
	}
	if n == nil {
		d.out.giveUp(1, fmt.Sprintf("no node is left to replace rank %d (%s)", p.original, p.reason), []*process{p})
		return nil
	}
	q := d.members.enlist(now, p.original, n)
	d.out.note(slog.LevelInfo, "starting a replacement", "rank", int(q.original), "node", n.Name, "process", int(q.id))
	return q
}

// enter decides when p may be replaced. It returns whether it may be at all: else the job
// has been ended.
func (d *deployment) enter(now time.Time, p *process, epoch int) bool {
	delay, why := askedDelay, "the job was asked to end"
	if !d.failedWhenAsked(now, p) {
		var report string
		delay, report = d.ledger.enter(p, epoch, d.members.world == nil)
		if report != "" {
			d.out.giveUp(1, report, []*process{p})
			d.out.exhausted = true
			return false
		}
		why = "losses follow one another without progress"
	}
	p.entered, p.due = true, now.Add(delay)
	if p.patience.After(p.due) {
		p.due = p.patience
	}
	if delay > 0 {
		d.out.note(slog.LevelWarn, "a replacement waits: "+why, "rank", int(p.original), "delay", delay)
	}
	return true
}

// failedWhenAsked: p is a replacement that was told to end, and has failed, and so may the next one,
// while others save what they have: no reason to give up the job. If there are no others, or they
// had their time, it is a failure like any other.
func (d *deployment) failedWhenAsked(now time.Time, p *process) bool {
	recent := func(f forwarding) bool { return now.Before(f.at.Add(StopPatience)) }
	return p.asked && d.stops.any(recent) && slices.ContainsFunc(d.members.world, (*process).present)
}

// postpone has replacements that have to wait looked at again.
func (d *deployment) postpone(until time.Time) { d.retry = earlier(d.retry, until) }

// send gives the order to start processes, which begin in an epoch.
func (d *deployment) send(list []*process, epoch int) {
	starts := make(map[*node][]Start)
	for _, p := range list {
		if !p.ordered {
			p.ordered = true
			starts[p.node] = append(starts[p.node], Start{Proc: p.id, Original: p.original, Epoch: epoch})
		}
	}
	for _, n := range slices.SortedFunc(maps.Keys(starts), func(a, b *node) int { return cmp.Compare(a.id, b.id) }) {
		d.out.send(n, Message{Kind: KindStart, Start: starts[n]})
	}
}

// spawning are the processes that an operation has started.
type spawning struct {
	policy  driver.SpawnPolicy
	epoch   int                   // of the job
	begin   int                   // the epoch that they begin in
	current map[Original]*process // by the rank they stand for
	lost    []*process            // died before they were needed
	upTo    int                   // ends of processes, by when all were replaced that are to be
}

func newSpawning(policy driver.SpawnPolicy, epoch, begin int) *spawning {
	return &spawning{policy: policy, epoch: epoch, begin: begin, current: make(map[Original]*process)}
}

// start has a process for each of wanted, by original rank the process that it
// replaces. It returns whether all have said Hello.
func (d *deployment) start(now time.Time, s *spawning, wanted map[Original]*process) bool {
	var started []*process
	var heirs [][2]*process // from, to
	for _, o := range slices.Sorted(maps.Keys(wanted)) {
		p := s.current[o]
		if p != nil && p.present() {
			continue
		}
		was := cmp.Or(p, wanted[o])
		q := d.replace(now, was, s.policy, s.epoch)
		switch {
		case d.out.ended:
			return false
		case q == nil: // not yet
			continue
		case p != nil:
			s.lost = append(s.lost, p)
		}
		s.current[o], started = q, append(started, q)
		if was.evicted || was.heir {
			heirs = append(heirs, [2]*process{was, q})
		}
	}
	d.send(started, s.begin)
	for _, h := range heirs {
		d.leave(h[0], h[1])
	}
	return s.complete(wanted)
}

// leave has q get what p has left, if it is on its node: else nobody does.
func (d *deployment) leave(p, q *process) {
	to := p
	if q.node == p.node {
		q.heir, to = true, q
	}
	d.out.send(p.node, Message{Kind: KindInherit, Inherit: &Inherit{From: p.id, To: to.id}})
}

// complete: all have said Hello that were wanted.
func (s *spawning) complete(wanted map[Original]*process) bool {
	for o := range wanted {
		if p := s.current[o]; p == nil || p.state != alive {
			return false
		}
	}
	return true
}

// loads is how many of its processes nodes have; s may be nil.
func (s *spawning) loads() map[*node]int {
	loads := make(map[*node]int)
	for _, p := range s.newcomers() {
		if p.present() {
			loads[p.node]++
		}
	}
	return loads
}

// newcomers are the started processes by original rank; s may be nil.
func (s *spawning) newcomers() []*process {
	if s == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(s.current), byOriginal)
}

// discard ends what was started for an operation that does without it; nil: nothing was.
func (d *deployment) discard(s *spawning) {
	for _, p := range s.newcomers() {
		if p.present() {
			p.discarded = true
			d.members.fence(p, "the operation it was started for does not need it")
		}
	}
}
