package aft_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
)

// fakeJob is a job whose ranks are goroutines and whose root is a lock: the
// smallest thing that keeps the promises of comm.Session. A rank that was killed
// ends at its next call.
type fakeJob struct {
	name    string
	mu      sync.Mutex
	changed *sync.Cond
	world   *fakeWorld
	zone    int
	// failRepair is what every Repair returns, if it is set.
	failRepair error
	// onRepair is called, with the lock held, when the first rank has come to a
	// Repair.
	onRepair func(epoch int)

	program func(s *fakeSession) error
	ranks   sync.WaitGroup
	results map[comm.OriginalRank][]error // in the order they ended
	deaths  int
	steps   map[comm.OriginalRank]int64
}

// fakeWorld is one communicator of all.
type fakeWorld struct {
	epoch     int
	originals []comm.OriginalRank
	dead      []bool
	failure   chan struct{}
	revoked   chan struct{}
	boxes     [][]fakeMessage // by receiver
	op        *fakeOp         // the present collective operation
}

type fakeMessage struct {
	source int
	tag    int
	data   []byte
}

// fakeOp is a collective operation: who has come with what.
type fakeOp struct {
	kind     string
	verdicts map[int]driver.Verdict
	policies map[int]driver.Policy
	done     bool
	err      error
	outcome  driver.Outcome
	change   driver.Change
	next     *fakeWorld
}

func newFakeWorld(epoch int, originals []comm.OriginalRank) *fakeWorld {
	return &fakeWorld{
		epoch: epoch, originals: originals, dead: make([]bool, len(originals)), boxes: make([][]fakeMessage, len(originals)),
		failure: make(chan struct{}), revoked: make(chan struct{}),
	}
}

// runJob runs a program on n ranks and returns when all have ended or died.
func runJob(t *testing.T, n int, program func(s *fakeSession) error, setup ...func(*fakeJob)) *fakeJob {
	t.Helper()
	return runJobWithin(t, 30*time.Second, n, program, setup...)
}

// runPatientJob is for jobs that take long, in simulated time.
func runPatientJob(t *testing.T, n int, program func(s *fakeSession) error) *fakeJob {
	t.Helper()
	return runJobWithin(t, 24*time.Hour, n, program)
}

func runJobWithin(t *testing.T, limit time.Duration, n int, program func(s *fakeSession) error, setup ...func(*fakeJob)) *fakeJob {
	t.Helper()
	j := &fakeJob{name: rand.Text(), program: program, results: make(map[comm.OriginalRank][]error), steps: make(map[comm.OriginalRank]int64)}
	j.changed = sync.NewCond(&j.mu)
	var originals []comm.OriginalRank
	for r := range n {
		originals = append(originals, comm.OriginalRank(r))
	}
	j.world = newFakeWorld(0, originals)
	for _, f := range setup {
		f(j)
	}
	for r := range n {
		j.start(j.world, r, nil)
	}
	over := make(chan struct{})
	go func() { j.ranks.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(limit):
		stacks := make([]byte, 1<<20)
		t.Fatalf("the job hangs\n%s", stacks[:runtime.Stack(stacks, true)])
	}
	return j
}

func (j *fakeJob) start(w *fakeWorld, rank int, change *driver.Change) {
	s := &fakeSession{job: j, world: w, rank: rank, change: change, zone: j.zone}
	s.session = comm.NewSession(s)
	j.ranks.Go(func() {
		err := j.program(s)
		j.mu.Lock()
		defer j.mu.Unlock()
		original := s.world.originals[s.rank]
		j.results[original] = append(j.results[original], err)
	})
}

// kill kills whoever has an original rank now; true if there was one.
func (j *fakeJob) kill(o comm.OriginalRank) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.killLocked(o)
}

func (j *fakeJob) killLocked(o comm.OriginalRank) bool {
	w := j.world
	r := slices.Index(w.originals, o)
	if r < 0 || w.dead[r] {
		return false
	}
	if !slices.Contains(w.dead, true) {
		close(w.failure)
	}
	w.dead[r] = true
	j.deaths++
	j.settle(w)
	j.changed.Broadcast()
	return true
}

// settle completes the present operation if all who are alive have come.
func (j *fakeJob) settle(w *fakeWorld) {
	if w.op == nil {
		return
	}
	alive := 0
	for r, dead := range w.dead {
		_, ended := w.op.verdicts[r]
		_, repairs := w.op.policies[r]
		if !dead && !ended && !repairs {
			return
		}
		if !dead {
			alive++
		}
	}
	op := w.op
	w.op, op.done = nil, true
	switch {
	case op.kind == "end":
		j.decide(w, op)
	case alive > 0:
		j.replace(w, op)
	}
	j.changed.Broadcast()
}

func (j *fakeJob) decide(w *fakeWorld, op *fakeOp) {
	through := true
	for r, v := range op.verdicts {
		through = through && (v.Through || w.dead[r])
	}
	if op.outcome.Repair = slices.Contains(w.dead, true) && !through; op.outcome.Repair {
		return
	}
	for r := len(w.originals) - 1; r >= 0; r-- {
		v := op.verdicts[r]
		if v.Err != "" {
			op.outcome = driver.Outcome{Err: v.Err, ErrRank: r}
		} else if v.Failure && op.outcome.Err == "" {
			op.outcome.Repair = true
		}
	}
	if !op.outcome.Repair {
		j.zone++
	}
}

func (j *fakeJob) replace(w *fakeWorld, op *fakeOp) {
	if j.failRepair != nil {
		op.err = j.failRepair
		return
	}
	var policy driver.Policy
	for _, p := range op.policies {
		policy = p
	}
	c := driver.Change{Epoch: w.epoch + 1}
	var originals []comm.OriginalRank
	for r, o := range w.originals {
		if w.dead[r] {
			c.Failed = append(c.Failed, driver.Loss{Original: int(o), Rank: r, Reason: "killed by the test"})
		}
		if !w.dead[r] || policy.Recovery == driver.NonShrinking {
			originals = append(originals, o)
		}
	}
	for _, o := range w.originals {
		c.Ranks = append(c.Ranks, slices.Index(originals, o))
	}
	op.next = newFakeWorld(c.Epoch, originals)
	j.world = op.next
	if policy.Recovery == driver.NonShrinking {
		for _, l := range c.Failed {
			c.Replaced = append(c.Replaced, l.Original)
			j.start(op.next, c.Ranks[l.Rank], &c)
		}
	}
	op.change = c
}

// fakeSession is one rank's part.
type fakeSession struct {
	job     *fakeJob
	world   *fakeWorld
	rank    int
	change  *driver.Change // that it was started for; nil: it is no replacement
	zone    int
	comm    *fakeComm // that of world
	session *comm.Session
}

var (
	_ driver.Session = (*fakeSession)(nil)
	_ driver.Stepper = (*fakeSession)(nil)
)

// alive takes the lock, and ends the goroutine if the rank was killed.
func (s *fakeSession) alive() {
	s.job.mu.Lock()
	s.checkAlive()
}

func (s *fakeSession) checkAlive() {
	if s.world.dead[s.rank] {
		s.job.mu.Unlock()
		runtime.Goexit()
	}
}

func (s *fakeSession) original() comm.OriginalRank { return s.world.originals[s.rank] }

// die is SIGKILL to itself.
func (s *fakeSession) die() {
	s.job.kill(s.original())
	runtime.Goexit()
}

func (s *fakeSession) Place() driver.Place {
	if s.comm == nil || s.comm.world != s.world {
		s.comm = &fakeComm{s: s, world: s.world, rank: s.rank}
	}
	return driver.Place{
		Comm: s.comm, Job: s.job.name, Original: int(s.original()), Node: int(s.original()) / 2,
		Epoch: s.world.epoch, Zone: s.zone, Replacement: s.change != nil, Change: s.change,
	}
}

func (s *fakeSession) Revoke()                     { s.comm.Revoke() }
func (s *fakeSession) Close(context.Context) error { return nil }
func (s *fakeSession) Step(step int64) {
	s.alive()
	s.job.steps[s.original()] = step
	s.job.mu.Unlock()
}
func (s *fakeSession) End(ctx context.Context, v driver.Verdict) (driver.Outcome, error) {
	op, err := s.take(ctx, "end", func(op *fakeOp) { op.verdicts[s.rank] = v })
	if err != nil {
		return driver.Outcome{}, err
	}
	s.change = nil
	if !op.outcome.Repair {
		s.zone++
	}
	return op.outcome, nil
}

func (s *fakeSession) Repair(ctx context.Context, p driver.Policy) (driver.Change, error) {
	op, err := s.take(ctx, "repair", func(op *fakeOp) {
		op.policies[s.rank] = p
		if f := s.job.onRepair; f != nil && len(op.policies) == 1 {
			f(s.world.epoch)
		}
	})
	if err != nil {
		return driver.Change{}, err
	}
	s.rank = slices.Index(op.next.originals, s.original())
	s.world = op.next
	return op.change, nil
}

// take takes part in a collective operation and waits for its end.
func (s *fakeSession) take(ctx context.Context, kind string, part func(*fakeOp)) (*fakeOp, error) {
	s.alive()
	defer s.job.mu.Unlock()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w := s.world
	if w.op == nil {
		w.op = &fakeOp{kind: kind, verdicts: make(map[int]driver.Verdict), policies: make(map[int]driver.Policy)}
	}
	op := w.op
	if op.kind != kind {
		return nil, fmt.Errorf("ranks call different operations: %s and %s", op.kind, kind)
	}
	part(op)
	s.job.settle(w)
	for !op.done {
		s.job.changed.Wait()
		if w.dead[s.rank] {
			s.job.mu.Unlock()
			defer s.job.mu.Lock() // for the deferred Unlock
			runtime.Goexit()
		}
	}
	return op, op.err
}
