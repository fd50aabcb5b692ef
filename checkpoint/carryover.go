package checkpoint

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/placement"
)

// An attempt that follows a failure, and finds the newest version in memory, touches no file until
// a version is due for one: it does not look at what is stored, nor does it take the lock, and
// what the attempt before had to do at its end is left to do. The session carries over what it needs to
// know for that. If the lock was lost with its holder, rank 0 takes it over beside the program:
// it looks like that of a dead job to another one.

// carryover is what the session keeps of a checkpoint from one attempt to the next.
type carryover struct {
	mu   sync.Mutex
	last carried
	// left is what the last attempt that has touched files has not done at its end: its record, those
	// of the attempts after it, and the lock given back.
	left func(after []storage.Record)
	// records are those of the attempts after it. Nothing else of them may be kept: there is no end to them
	// as long as no version is due for a file.
	records []storage.Record
}

// recordsCarried is how many records of attempts are kept, the newest ones.
const recordsCarried = 9

// carried is what a rank knows of the attempt before.
type carried struct {
	Store   string     // identity of the store; "": this rank was in none
	Newest  storage.ID // that was complete, as far as it knows
	Used    uint64     // the highest number that it knows of
	Reached int64      // the last iteration that it has done, or NoIteration
	Lock    bool       // this rank has the lock
	Branch  branching  // after a way back

	dir string // placement.Config.Dir, on this rank
}

type carryoverKey struct{ dir string }

func (k carryoverKey) String() string { return "checkpoint in " + k.dir }

var _ comm.ZoneKeeper = (*carryover)(nil)

// Rebind implements comm.Keeper.
func (c *carryover) Rebind(*comm.Comm, comm.Change) error { return nil }

// ZoneEnded implements comm.ZoneKeeper: what looked like a failure at the end of the attempt was the end,
// such as that by an error of another rank.
func (c *carryover) ZoneEnded() { c.finish() }

// Close does what is left, as the job ends.
func (c *carryover) Close() error {
	c.finish()
	return nil
}

// finish does what the last attempt has left.
func (c *carryover) finish() {
	if c == nil {
		return
	}
	c.mu.Lock()
	left, records := c.left, c.records
	c.left, c.records = nil, nil
	c.mu.Unlock()
	if left != nil {
		left(records)
	}
}

// record adds that of an attempt that has touched no file.
func (c *carryover) record(r storage.Record) {
	c.records = append(c.records, r)
	if n := len(c.records); n > recordsCarried {
		c.records = slices.Clone(c.records[n-recordsCarried:])
	}
}

func (c *carryover) known() carried {
	if c == nil {
		return carried{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// carries reports whether what is in memory may be gone on with without files. The stages of nested
// checkpoints are known from files only.
func carries(c *core) bool {
	policy, _ := c.opt.policy()
	return c.leveled() && policy.On(storage.TierMemory)
}

// carryoverOf is that of a checkpoint; nil: there is none.
func carryoverOf(c *core) *carryover {
	if !carries(c) {
		return nil
	}
	over, err := comm.Keep(c.comm.Session(), carryoverKey{c.dir()}, func() (*carryover, error) { return &carryover{last: carried{Reached: container.NoIteration}}, nil })
	if err != nil { // the session has ended, or what it keeps is another program's
		c.log.Debug("nothing is carried over to the next attempt", "error", err)
	}
	return over
}

// failureKnown reports whether a process of the job is known to have failed: then another attempt
// will mostly follow.
func failureKnown(c *core) bool {
	select {
	case <-c.comm.FailureKnown():
		return true
	case <-c.comm.Revoked():
		return true
	default:
		return false
	}
}

// carryOver leaves the end of this attempt for later, if another one will follow a failure, and
// reports whether it has: nothing of it is to be done now.
func (cp *Checkpoint) carryOver() bool {
	over := carryoverOf(cp.core)
	if over == nil || cp.placement == nil || !cp.line.attempt.begun || !failureKnown(cp.core) {
		return false
	}
	up := cp.up
	up.maintenance.remove.take() // the next attempt that looks at files finds them again
	up.maintenance.drop.take()
	over.mu.Lock()
	defer over.mu.Unlock()
	over.last = carried{
		Store: cp.placement.Manifest().Last().ID, Newest: cp.line.attempt.newest, Used: cp.line.attempt.last,
		Reached: cp.line.redo.reached, Branch: cp.line.branch, dir: cp.placedAt,
	}
	lock, records := cp.lock, cp.root() && cp.opt.Record
	if cp.light {
		over.last.Lock = over.left != nil // else another process had it
		if over.left != nil && records {
			over.record(up.newRecord(time.Now(), true))
		}
		return true
	}
	over.last.Lock, over.left = lock != nil, nil
	if records {
		r := up.newRecord(time.Now(), true)
		up.maintenance.tell(metadata{record: &r})
	}
	up.announceNewest()
	if lock == nil && !cp.root() {
		return true
	}
	over.left = func(after []storage.Record) {
		up.doMaintenance(context.Background())
		writeRecords(cp.core, lock, after)
		up.dropSpares()
		giveBackLock(cp.core, lock)
	}
	return true
}

// writeRecords writes those of attempts that have touched no file, with the lock of one before them.
func writeRecords(of *core, lock storage.Lock, records []storage.Record) {
	if lock != nil && lock.Check() != nil || of.comm.Lease() != nil {
		return
	}
	for _, r := range records {
		if err := of.home.Record(context.Background(), r); err != nil {
			of.log.Debug("record of the run not written", "error", err)
		}
	}
}

func giveBackLock(c *core, lock storage.Lock) {
	if lock == nil {
		return
	}
	if err := lock.Unlock(); err != nil {
		c.log.Warn("lock not given back", "error", err)
	}
}

// inheritLock takes the lock of a rank that was lost over, without waiting: nobody waits for files
// now. Giving it back is what is left to do.
func (c *carryover) inheritLock(of *core) {
	if c == nil {
		return
	}
	var lock storage.Lock
	var taking sync.WaitGroup
	taking.Go(func() {
		var err error
		if lock, err = filestore.Inherit(of.home); err != nil {
			of.log.Warn("the lock of the rank that was lost is not taken over", "path", of.dir(), "error", err)
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = func(after []storage.Record) {
		taking.Wait()
		writeRecords(of, lock, after)
		giveBackLock(of, lock)
	}
}

// carriedStart begins an attempt without files, and looks at them later.
type carriedStart struct{ st *starting }

// begin begins an attempt with the newest version that is in memory; nil: it is to begin with
// what is in files. It is collective.
func (b carriedStart) begin(ctx context.Context) (*container.Header, error) {
	st := b.st
	repairs, _ := st.comm.Session().Recovered()
	if !carries(st.core) || repairs == 0 || st.line.parent != nil || len(st.line.children) > 0 {
		return nil, nil
	}
	own := carryoverOf(st.core).known()
	all, err := fromAll(ctx, st.core, own)
	if err != nil {
		return nil, err
	}
	before := newestCarried(all)
	if before.Store == "" || before.Newest.IsZero() {
		return nil, nil
	}
	st.line.attempt.sameDirectory = true
	if st.root() && !before.Lock {
		carryoverOf(st.core).inheritLock(st.core)
	}
	if err := b.open(ctx, before.Store, cmp.Or(own.dir, st.dir())); err != nil {
		return nil, err
	}
	found, err := b.survey(ctx, before)
	if err != nil {
		return nil, err
	}
	for i, c := range found.Candidates {
		h, v, err := st.tryRestore(ctx, c, found.Candidates[i+1:])
		switch v {
		case fine:
			st.rootLog.Info("restored", "version", c.ID.Version, "iteration", iterationAttr(h.Iteration), "written_by_ranks", c.Ranks, "from", "memory")
			st.line.attempt.read = true
			if err := st.agreeOnAttempt(ctx, found, h); err != nil {
				return nil, err
			}
			st.placement.Heal(c.ID)
			return h, nil
		case failed:
			return nil, err
		}
		st.rootLog.Warn("version in memory is damaged and set aside", "version", c.ID.Version, "error", err)
	}
	b.leave()
	return nil, nil
}

// newestCarried is what all ranks together know.
func newestCarried(all []carried) (c carried) {
	c.Reached = container.NoIteration
	for _, one := range all {
		if one.Store == "" {
			continue
		}
		if one.Newest.Version > c.Newest.Version {
			c.Newest, c.Branch = one.Newest, one.Branch
		}
		c.Store, c.Used, c.Reached, c.Lock = one.Store, max(c.Used, one.Used), max(c.Reached, one.Reached), c.Lock || one.Lock
	}
	return c
}

// survey finds the versions in memory, on rank 0 which tells the others: none, if a newer one
// was complete.
func (b carriedStart) survey(ctx context.Context, before carried) (survey, error) {
	st := b.st
	found := survey{Used: before.Used, reached: before.Reached}
	if !before.Branch.ID.IsZero() {
		found.Back = &before.Branch
	}
	entries, err := st.store.List(ctx)
	if st.root() && err == nil {
		l := &looker{st.core, st.line, true}
		for _, e := range slices.Backward(entries) {
			found.Used = max(found.Used, e.ID.Version)
			if !e.Complete() || e.ID.Version < before.Newest.Version {
				continue
			}
			c, h, problem := l.identify(ctx, e)
			if problem == nil && c.Known {
				found.Candidates = append(found.Candidates, c)
				found.versions = append(found.versions, sighting{Entry: e, header: h})
			}
		}
		found.Highest = found.Used
		slices.Reverse(found.versions)
		_, _ = rand.Read(st.line.attempt.id[:]) // never fails
	}
	return fromRoot(ctx, st.core, found, err)
}

// leave ends what was begun without files.
func (b carriedStart) leave() {
	st := b.st
	st.light = false
	closePlacement(st.core, true)
	st.placement, st.store.Driver, st.store.Possible = nil, st.home, nil
}

// prepare is that of an attempt without files.
func (b carriedStart) prepare(ctx context.Context, found survey) error {
	st := b.st
	st.line.stored.Clear()
	for _, v := range found.versions {
		st.line.stored.Add(st.placement.Kept(v.ID), v.header)
	}
	return st.placement.Prepare(ctx, func(e storage.Entry) bool { return e.Complete() })
}

// openFiles is what begin has left out, before a version that goes to a file. It is collective. After
// an error the attempt goes on without files, in which the next version that is due for them is tried again.
func (b carriedStart) openFiles(ctx context.Context) error {
	st := b.st
	if !st.light {
		return nil
	}
	store, dir := st.placement.Manifest().Last().ID, st.placedAt
	err := b.takeFiles(ctx)
	if err == nil {
		return nil
	}
	st.abandon()
	st.line.attempt.last++ // the number of the version that is not written
	if commFailed(err) || ctx.Err() != nil || b.goOn(ctx, store, dir) != nil {
		st.line.attempt.begun = false
		st.restartErr = err
		st.abandon()
	}
	return err
}

// goOn goes back to what openFiles has left. What is in memory is still there.
func (b carriedStart) goOn(ctx context.Context, store, dir string) error {
	st, own := b.st, b.st.line.attempt.id
	if err := b.open(ctx, store, dir); err != nil {
		return err
	}
	found, err := b.survey(ctx, carried{Newest: st.line.attempt.newest, Used: st.line.attempt.last})
	st.line.attempt.id = own
	if err == nil && st.root() {
		err = b.prepare(ctx, found)
	}
	_, err = st.agree(ctx, err)
	return err
}

// open opens what is in memory.
func (b carriedStart) open(ctx context.Context, store, dir string) error {
	b.st.light = true
	if err := b.st.place(ctx, placement.Config{Dir: dir, Carried: store}); err != nil {
		return err
	}
	return b.st.placement.Survey(ctx)
}

func (b carriedStart) takeFiles(ctx context.Context) error {
	st := b.st
	b.leave()
	for _, step := range []func(context.Context) error{b.finishLast, st.takeLock, st.openPlacement} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	own := st.line.attempt.id
	found, err := st.survey(ctx)
	st.line.attempt.id = own
	if err != nil {
		return err
	}
	st.line.stored.SetDamaged(found.damaged)
	if err := st.placement.Sweep(ctx); err != nil {
		return err
	}
	if st.root() {
		st.takeOver(ctx, max(found.Used, st.line.attempt.last))
		st.line.attempt.before = found.told.Runs
		st.line.attempt.ahead = aheadOf(found.told.Runs, st.line.attempt.started)
		at := container.Header{Version: max(st.line.attempt.newest.Version, st.line.attempt.origin.Version)}
		err = st.prepare(ctx, found, &at)
	}
	if found, err = fromRoot(ctx, st.core, found, err); err != nil {
		return err
	}
	st.placement.SkipNumbers(st.line.attempt.last, max(found.Used, st.line.attempt.last))
	st.line.attempt.last = max(found.Used, st.line.attempt.last)
	st.placement.Resume()
	return nil
}

// finishLast does what the attempt before has left, on all ranks.
func (b carriedStart) finishLast(ctx context.Context) error {
	st := b.st
	if !carries(st.core) {
		return nil
	}
	carryoverOf(st.core).finish()
	return comm.Barrier(ctx, st.comm) // with the lock
}
