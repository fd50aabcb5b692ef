package control

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/craft-go/craft/internal/demand"
)

// Past is what the deployments of a job have left to the next one: see Abort and restart in the
// package's documentation. It is not changed any more.
type Past struct {
	Restart int // deployments so far
	// FellBack: this deployment goes back one version, as the ones before have died again and again.
	FellBack bool

	epoch    int // that of the next one's first world
	ledger   ledger
	furthest progress // of all of them
	stuck    int      // how many have failed in a row without getting beyond it
	deaths   []string
	gone     map[Node]bool        // nodes that are not used any more
	takes    map[int]demand.Takes // what the program does with signals
	saves    []demand.Demand      // versions that were asked for and are not stored
}

// defeat is why a job has ended that may be deployed again.
type defeat struct {
	what string // who has failed, for people
	lost bool   // with nodes, or because nothing was heard of them: nothing of it is the program's own
}

// Exit codes of programs that have ended as they wanted to.
const (
	usageCode       = 2                  // called wrongly
	requeueCode     = demand.ExitRequeue // another job is to go on, not another attempt
	haltedCode      = demand.ExitHalted
	interruptedCode = demand.ExitInterrupt
)

// wanted: a process with this code has ended as it wanted to.
func (b *outbox) wanted(code int) bool {
	return code == usageCode || code == requeueCode || code == haltedCode || code == interruptedCode || code == b.requeue
}

// defeatOf is that of some processes; nil: one has ended as it wanted to, or there are none but
// behind a zone that had an error.
func (b *outbox) defeatOf(lost []*process) *defeat {
	lost = only(lost, func(p *process) bool { return p.settled != settledWithError })
	if len(lost) == 0 {
		return nil
	}
	f := &defeat{lost: true}
	for _, p := range lost {
		if own := p.signal == 0 && !p.lost && !p.panicked && !p.silenced; own && b.wanted(p.code) {
			return nil
		}
		f.lost = f.lost && (p.lost || p.silenced)
	}
	f.what = strings.Join(obituaries(lost), "; ")
	return f
}

// obituaries tell who has failed, how and where; ranks to which the same has happened share one.
func obituaries(lost []*process) []string {
	type fate struct {
		node   *node
		reason string
		died   place
	}
	var order []fate
	ranks := make(map[fate][]*process)
	for _, p := range lost {
		f := fate{p.node, p.reason, p.died}
		if ranks[f] == nil {
			order = append(order, f)
		}
		ranks[f] = append(ranks[f], p)
	}
	return some(order, func(f fate) string {
		who := "rank"
		if len(ranks[f]) > 1 {
			who = "ranks"
		}
		names := some(ranks[f], func(p *process) string { return fmt.Sprint(p.original) })
		return fmt.Sprintf("%s %s on node %s: %s%s", who, strings.Join(names, ", "), f.node.Name, f.reason, f.died)
	})
}

// String is the place for the end of a sentence.
func (p place) String() string {
	switch {
	case !p.known || p.step == NoStep:
		return ""
	case p.zone == 0:
		return fmt.Sprintf(" after step %d", p.step)
	}
	return fmt.Sprintf(" after step %d of zone %d", p.step, p.zone)
}

// place is where a process was that has ended, as far as is known.
type place struct {
	progress
	known bool
}

// Sequel decides what becomes of a job that has ended, and may be deployed again most times:
// next is what another deployment begins with; nil: there is none, and report tells why, if
// that is not plain from the end itself.
func (r *Root) Sequel(most int) (next *Past, report string) {
	if most == 0 || r.out.defeat == nil || r.stops.ever() {
		return nil, ""
	}
	next = r.past(*r.out.defeat)
	limit := r.cfg.Repeats
	if next.furthest.step == NoStep && r.members.world != nil {
		limit *= 3
	}
	switch {
	case next.stuck >= limit:
		return nil, next.report(fmt.Sprintf("the job has failed %d times in a row %s: it is not deployed again (--max-repeats)", next.stuck, next.where()))
	case next.Restart > most:
		return nil, next.report(fmt.Sprintf("the job has failed in all %d deployments (--restarts %d)", next.Restart, most))
	case len(next.regular(r.cfg)) == 0:
		return nil, next.report("no node is left to deploy the job on")
	}
	return next, ""
}

// FallBack decides whether a job that has ended because its processes have died of their own, again and again, is to be
// deployed once more, to go on from an older version: once. nil: it is not.
func (r *Root) FallBack() *Past {
	if r.out.defeat == nil || r.out.defeat.lost || r.stops.ever() || r.cfg.Past != nil && r.cfg.Past.FellBack {
		return nil
	}
	next := r.past(*r.out.defeat)
	if !r.out.exhausted && next.stuck < r.cfg.Repeats || len(next.regular(r.cfg)) == 0 {
		return nil
	}
	next.FellBack, next.stuck, next.ledger = true, 0, newLedger(r.cfg.Repeats)
	return next
}

// past adds this deployment, which has failed, to those before it.
func (r *Root) past(f defeat) *Past {
	before := Past{furthest: progress{step: NoStep}}
	if r.cfg.Past != nil {
		before = *r.cfg.Past
	}
	next := &Past{
		Restart: before.Restart + 1, epoch: r.rendezvous.epoch + 1, ledger: r.deploy.ledger.handedOn(), furthest: r.deploy.ledger.best,
		FellBack: before.FellBack, stuck: before.stuck, deaths: append(slices.Clone(before.deaths), f.what), gone: maps.Clone(before.gone), takes: r.demands.takes,
		saves: r.demands.decider.Saves(time.Time{}),
	}
	if next.furthest != before.furthest {
		next.stuck = 0
	}
	if !f.lost { // losses have reasons that pass, and a limit of their own: the nodes
		next.stuck++
	}
	for _, n := range r.members.nodes {
		if !n.reachable() {
			next.Leave(n.id)
		}
	}
	return next
}

// Deployments are how many there were before; p may be nil.
func (p *Past) Deployments() int {
	if p == nil {
		return 0
	}
	return p.Restart
}

// Why is why the last deployment has failed.
func (p *Past) Why() string { return p.deaths[len(p.deaths)-1] }

// Presumed is when a node is declared dead of which nothing is heard any more; zero: it was.
func (r *Root) Presumed(n Node) time.Time {
	if node := r.members.node(n); node != nil && !node.lost {
		return node.due
	}
	return time.Time{}
}

// Leave has a node left out: nobody knows that all that ran there has ended. It is for whoever
// has made p, before it is used.
func (p *Past) Leave(n Node) {
	if p.gone == nil {
		p.gone = make(map[Node]bool)
	}
	p.gone[n] = true
}

func (p *Past) where() string {
	switch {
	case p.furthest == progress{step: NoStep}:
		return "without reporting a step (Zone.Step)"
	case p.furthest.step == NoStep:
		return fmt.Sprintf("without getting beyond the beginning of zone %d", p.furthest.zone)
	}
	return "without getting beyond" + strings.TrimPrefix(place{p.furthest, true}.String(), " after")
}

func (p *Past) report(what string) string { return listed(what+":", p.deaths) }

// handedOn is the ledger of another deployment: whoever fails there begins a new round.
func (l ledger) handedOn() ledger {
	l.equal = maps.Clone(l.equal)
	l.own.seen, l.lost.seen = nil, nil
	l.asked()
	return l
}

// goOn begins where the deployments before have ended.
func (r *Root) goOn(p Past) {
	r.rendezvous.epoch, r.deploy.ledger, r.demands.takes = p.epoch, p.ledger, p.takes
	for _, n := range r.members.nodes {
		if n.lost = p.gone[n.id]; n.lost {
			n.why = "it was lost before"
		}
	}
	for _, d := range p.saves {
		if d.ID == "" { // whoever waits for an answer is found by the next deployment
			r.demands.decider.Ask(time.Time{}, d)
		}
	}
}

// leaveOut does without a node that is lost before anything runs there.
func (d *deployment) leaveOut(now time.Time, n *node, why string) {
	n.ready = false
	d.members.loseSpare(n, why)
	d.launch(now)
}
