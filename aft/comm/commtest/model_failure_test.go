package commtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

var (
	_ comm.Failing = (*view)(nil)
	_ comm.Revoker = (*view)(nil)
	_ comm.Agreer  = (*view)(nil)
	_ comm.Maker   = (*view)(nil)
)

func (v *view) Failed() []comm.Rank {
	v.g.m.mu.Lock()
	defer v.g.m.mu.Unlock()
	return v.failed()
}

func (v *view) Acknowledge() []comm.Rank {
	v.g.m.mu.Lock()
	defer v.g.m.mu.Unlock()
	failed := v.failed()
	for _, r := range failed {
		v.acked[r] = true
	}
	if v.g.m.fault == "one list for all communicators" {
		for _, other := range v.me.views {
			for _, r := range other.failed() {
				other.acked[r] = true
			}
		}
	}
	return failed
}

func (v *view) Revoked() <-chan struct{} { return v.end }

func (v *view) Revoke() {
	m := v.g.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.me.dead {
		return
	}
	v.revoke()
	for _, p := range v.g.members {
		other := v.g.view(p)
		m.later(func() {
			if m.fault == "a dead revoker is not heard" && v.me.dead {
				return
			}
			other.revoke()
		})
	}
}

func (v *view) revoke() {
	if v.isRevoked {
		return
	}
	v.isRevoked = true
	if v.g.m.fault == "revoke reaches the others too" {
		for _, other := range v.me.views {
			other.revoke()
		}
	}
	close(v.end)
	if v.g.m.fault == "revoke does not interrupt" {
		return
	}
	v.checkPending()
}

// opKey tells the operations on a group apart: those that revoke interrupts, and
// those that it does not, are counted apart.
type opKey struct{ class, seq int }

type part struct {
	kind    string
	flags   uint64
	acked   map[comm.Rank]bool
	color   int
	key     int
	missing []comm.OriginalRank
}

type answer struct {
	flags uint64
	err   error
	made  *group
}

type op struct {
	g       *group
	key     opKey
	parts   map[*proc]part
	done    chan struct{}
	decided bool
	answers map[*proc]answer
	dead    []*proc // known to whoever gets the answer
}

// take takes part in the next operation of v.
func (v *view) take(ctx context.Context, class int, p part) (answer, error) {
	m := v.g.m
	m.mu.Lock()
	if v.me.dead || class == 1 && v.isRevoked {
		defer m.mu.Unlock()
		return answer{}, v.problem(comm.AnySource)
	}
	key := opKey{class, v.seq[class]}
	v.seq[class]++
	o := v.g.ops[key]
	if o == nil {
		o = &op{g: v.g, key: key, parts: make(map[*proc]part), done: make(chan struct{})}
		v.g.ops[key] = o
	}
	o.parts[v.me] = p
	o.decide()
	m.mu.Unlock()
	interrupt := v.end
	if class == 0 && m.fault != "revoke interrupts all" || m.fault == "revoke does not interrupt" {
		interrupt = nil
	}
	select {
	case <-o.done:
	case <-interrupt:
		return answer{}, comm.ErrRevoked
	case <-v.me.killed:
		return answer{}, errKilled
	case <-ctx.Done():
		return answer{}, comm.Withdrawn(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range o.dead {
		v.me.learn(d)
	}
	a := o.answers[v.me]
	return a, a.err
}

// decide ends the operation when all that are alive have come.
func (o *op) decide() {
	if o.decided {
		return
	}
	var living []*proc
	for _, p := range o.g.members {
		_, came := o.parts[p]
		switch {
		case p.dead || p.left:
			o.dead = append(o.dead, p)
		case !came:
			o.dead = nil
			return
		default:
			living = append(living, p)
		}
	}
	o.decided = true
	defer close(o.done)
	o.answers = make(map[*proc]answer)
	if len(living) == 0 {
		return
	}
	switch first := o.parts[living[0]]; first.kind {
	case "agree":
		o.agree(living)
	case "shrink":
		made := o.g.m.addGroup(o.shrunk(living))
		o.answerAll(living, answer{made: made})
	case "split":
		o.split(living)
	case "spawn":
		o.spawn(living, first.missing)
	}
}

func (o *op) answerAll(living []*proc, a answer) {
	for _, p := range living {
		o.answers[p] = a
	}
}

func (o *op) shrunk(living []*proc) []*proc {
	switch o.g.m.fault {
	case "shrink changes the order":
		living = slices.Clone(living)
		slices.Reverse(living)
	case "shrink keeps the dead":
		return o.g.members
	}
	return living
}

func (o *op) failedError() error {
	err := &comm.FailedError{}
	for r, p := range o.g.members {
		if slices.Contains(o.dead, p) {
			err.Ranks = append(err.Ranks, comm.Rank(r))
		}
	}
	return err
}

func (o *op) agree(living []*proc) {
	flags, failed := ^uint64(0), &comm.FailedError{}
	for _, p := range o.g.members {
		part, came := o.parts[p]
		if came {
			flags &= part.flags
		}
	}
	for r, p := range o.g.members {
		if !slices.Contains(o.dead, p) {
			continue
		}
		for _, q := range living {
			if !o.parts[q].acked[comm.Rank(r)] && !slices.Contains(failed.Ranks, comm.Rank(r)) {
				failed.Ranks = append(failed.Ranks, comm.Rank(r))
			}
		}
	}
	a := answer{flags: flags}
	if o.g.m.fault == "agree forgets" && o.key.seq > 1 {
		failed.Ranks = nil
	}
	if len(failed.Ranks) > 0 {
		a.err = failed
	}
	o.answerAll(living, a)
	if o.g.m.fault == "agree is not uniform" && len(living) > 1 {
		for _, p := range living {
			acked := o.parts[p].acked
			if a.err != nil && len(acked) >= len(failed.Ranks) {
				o.answers[p] = answer{flags: flags}
			}
		}
	}
}

func (o *op) split(living []*proc) {
	if len(o.dead) > 0 && o.g.m.fault != "split ignores the dead" {
		o.answerAll(living, answer{err: o.failedError()})
		return
	}
	byColor := make(map[int][]*proc)
	for _, p := range living {
		if color := o.parts[p].color; color >= 0 {
			byColor[color] = append(byColor[color], p)
		}
	}
	for _, members := range byColor {
		if o.g.m.fault == "split ignores keys" {
			slices.SortFunc(members, func(a, b *proc) int { return int(a.original - b.original) })
			o.answerAll(members, answer{made: o.g.m.addGroup(members)})
			continue
		}
		slices.SortStableFunc(members, func(a, b *proc) int { return o.parts[a].key - o.parts[b].key })
		o.answerAll(members, answer{made: o.g.m.addGroup(members)})
	}
}

func (o *op) spawn(living []*proc, missing []comm.OriginalRank) {
	m := o.g.m
	if len(o.dead) > 0 {
		o.answerAll(living, answer{err: o.failedError()})
		return
	}
	for i, r := range missing {
		if r < 0 || int(r) >= m.n || slices.Contains(missing[:i], r) || !m.present[comm.Rank(r)].dead {
			o.answerAll(living, answer{err: fmt.Errorf("original rank %d is not missing", r)})
			return
		}
	}
	members, fresh := slices.Clone(living), []*proc(nil)
	for _, r := range missing {
		fresh = append(fresh, m.addProc(comm.Rank(r), true))
	}
	members = append(members, fresh...)
	if m.fault != "spawn appends" {
		slices.SortFunc(members, func(a, b *proc) int { return int(a.original - b.original) })
	}
	g := m.addGroup(members)
	for _, p := range fresh {
		m.start(p, g)
	}
	o.answerAll(living, answer{made: g})
}

func (v *view) Agree(ctx context.Context, flags uint64) (uint64, error) {
	v.g.m.mu.Lock()
	acked := make(map[comm.Rank]bool)
	for r := range v.acked {
		acked[r] = true
	}
	v.g.m.mu.Unlock()
	a, err := v.take(ctx, 0, part{kind: "agree", flags: flags, acked: acked})
	return a.flags, err
}

func (v *view) make(ctx context.Context, class int, p part) (comm.Comm, error) {
	a, err := v.take(ctx, class, p)
	if err != nil || a.made == nil {
		return nil, err
	}
	v.g.m.mu.Lock()
	defer v.g.m.mu.Unlock()
	if v.g.m.fault == "dup is the same" && p.kind == "split" {
		return v, nil
	}
	made := a.made.view(v.me)
	if made == nil {
		return nil, errors.New("not a member of what was made")
	}
	return made, nil
}

func (v *view) Shrink(ctx context.Context) (comm.Comm, error) {
	return v.make(ctx, 0, part{kind: "shrink"})
}

func (v *view) Split(ctx context.Context, color, key int) (comm.Comm, error) {
	return v.make(ctx, 1, part{kind: "split", color: color, key: key})
}

func (v *view) Spawn(ctx context.Context, missing []comm.OriginalRank) (comm.Comm, error) {
	if v.g.m.fault == "no spawn" {
		return nil, comm.ErrUnsupported
	}
	return v.make(ctx, 1, part{kind: "spawn", missing: missing})
}
