package commtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/craft-go/craft/aft/comm/driver"
)

var (
	_ driver.Failing = (*view)(nil)
	_ driver.Revoker = (*view)(nil)
	_ driver.Agreer  = (*view)(nil)
	_ driver.Maker   = (*view)(nil)
)

func (v *view) Failed() []int {
	v.g.m.mu.Lock()
	defer v.g.m.mu.Unlock()
	return v.failed()
}

func (v *view) Acknowledge() []int {
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

func (v *view) FailureKnown() <-chan struct{} { return v.failure }

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
	acked   map[int]bool
	color   int
	key     int
	missing []int
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

// started is a process's part in an operation.
type started struct {
	v     *view
	o     *op
	class int
	kind  string
	err   error // why it could not take part
}

// take takes part in the next operation of v.
func (v *view) take(class int, p part) started {
	m := v.g.m
	m.mu.Lock()
	defer m.mu.Unlock()
	s := started{v: v, class: class, kind: p.kind}
	if v.me.dead || class == 1 && v.isRevoked {
		s.err = v.problem(driver.AnySource)
		return s
	}
	key := opKey{class, v.seq[class]}
	v.seq[class]++
	s.o = v.g.ops[key]
	if s.o == nil {
		s.o = &op{g: v.g, key: key, parts: make(map[*proc]part), done: make(chan struct{})}
		v.g.ops[key] = s.o
	}
	s.o.parts[v.me] = p
	s.o.decide()
	return s
}

func (s started) wait(ctx context.Context) (answer, error) {
	if s.o == nil {
		return answer{}, s.err
	}
	v, m := s.v, s.v.g.m
	interrupt := v.end
	if s.class == 0 && m.fault != "revoke interrupts all" || m.fault == "revoke does not interrupt" {
		interrupt = nil
	}
	select {
	case <-s.o.done:
	case <-interrupt:
		return answer{}, driver.ErrRevoked
	case <-v.me.killed:
		return answer{}, errKilled
	case <-ctx.Done():
		return answer{}, driver.Withdrawn(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.me.dead { // perhaps when it was decided, and so without it
		return answer{}, errKilled
	}
	for _, d := range s.o.dead {
		v.me.learn(d)
	}
	a := s.o.answers[v.me]
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
	err := &driver.FailedError{}
	for r, p := range o.g.members {
		if slices.Contains(o.dead, p) {
			err.Ranks = append(err.Ranks, r)
		}
	}
	return err
}

func (o *op) agree(living []*proc) {
	flags, failed := ^uint64(0), &driver.FailedError{}
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
			if !o.parts[q].acked[r] && !slices.Contains(failed.Ranks, r) {
				failed.Ranks = append(failed.Ranks, r)
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

func (o *op) spawn(living []*proc, missing []int) {
	m := o.g.m
	if len(o.dead) > 0 {
		o.answerAll(living, answer{err: o.failedError()})
		return
	}
	for i, r := range missing {
		if r < 0 || r >= m.n || slices.Contains(missing[:i], r) || !m.present[r].dead {
			o.answerAll(living, answer{err: fmt.Errorf("original rank %d is not missing", r)})
			return
		}
	}
	members, fresh := slices.Clone(living), []*proc(nil)
	for _, r := range missing {
		fresh = append(fresh, m.addProc(r, true))
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

func (v *view) Agree(flags uint64) driver.Agreement {
	v.g.m.mu.Lock()
	acked := make(map[int]bool)
	for r := range v.acked {
		acked[r] = true
	}
	v.g.m.mu.Unlock()
	return modelAgreement{v.take(0, part{kind: "agree", flags: flags, acked: acked})}
}

type modelAgreement struct{ started }

func (s modelAgreement) Wait(ctx context.Context) (uint64, error) {
	a, err := s.wait(ctx)
	return a.flags, err
}

type modelMaking struct{ started }

func (s modelMaking) Wait(ctx context.Context) (driver.Comm, error) {
	a, err := s.wait(ctx)
	if err != nil || a.made == nil {
		return nil, err
	}
	v := s.v
	v.g.m.mu.Lock()
	defer v.g.m.mu.Unlock()
	if v.g.m.fault == "dup is the same" && s.kind == "split" {
		return v, nil
	}
	made := a.made.view(v.me)
	if made == nil {
		return nil, errors.New("not a member of what was made")
	}
	return made, nil
}

func (v *view) Shrink(driver.Options) driver.Making {
	return modelMaking{v.take(0, part{kind: "shrink"})}
}

func (v *view) Split(color, key int, _ driver.Options) driver.Making {
	return modelMaking{v.take(1, part{kind: "split", color: color, key: key})}
}

func (v *view) Spawn(missing []int) driver.Making {
	if v.g.m.fault == "no spawn" {
		return modelMaking{started{err: driver.ErrUnsupported}}
	}
	return modelMaking{v.take(1, part{kind: "spawn", missing: missing})}
}
