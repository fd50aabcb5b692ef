package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// attempt is what the ranks have agreed on for this run. Every version that
// the run writes carries it.
type attempt struct {
	begun   bool
	read    bool // what is stored was looked at, here and around
	strict  bool // what is damaged is not set aside
	started time.Time
	ahead   time.Duration // of what the clock says, of the times in the record
	id      container.AttemptID
	lineage container.LineageID
	anew    container.LineageID // of the outermost checkpoint: see beganAnew
	// anewStored: the record says that a nested checkpoint has a version of that.
	anewStored bool
	// nestedStored: it says that of the stage behind the version that was restored.
	nestedStored bool
	nested       nestedNames      // that it tells of
	before       []storage.Record // of earlier runs, on rank 0
	origin       storage.ID       // that was restored; zero: none
	last         uint64           // number of the last version, of any attempt or of this one
	written      uint64           // on rank 0: number of the last one of this attempt that was complete in files
	memory       inMemory         // the last one that was in memory alone
	newest       storage.ID       // that was complete, in this attempt or restored; zero: none
	settled      uint64           // of the newest one of the present stage that was; 0: none
	// boxes is this rank's part of the partitioned values when the ranks last
	// checked that their boxes fit together.
	boxes string
	// sameDirectory: the ranks have found out that they write to one directory.
	sameDirectory bool
}

// starting begins an attempt: it looks at what is stored, restores it, and agrees with the
// other ranks on what follows.
type starting struct {
	*core
	line *lineage
	reg  *registry
	acc  *accounts
	up   *upkeep
	req  *requests
	pace *pacing

	meet *meetings
	// restartErr is why RestartIfNeeded failed when it was last called.
	restartErr error
	reads      bool // what is stored is to be gone on from: it is RestartIfNeeded that begins
}

// begin starts the attempt: rank 0 takes the lock and looks at what is stored,
// the newest usable version is restored if that is wanted, and the ranks agree
// on lineage, attempt and the next number.
func (st *starting) begin(ctx context.Context, read bool) (restored *container.Header, err error) {
	st.line.attempt.started, st.reads = time.Now(), read
	begun := false
	defer func() {
		if !begun { // also when a value's own code panics
			st.abandon()
			return
		}
		st.attend(restored)
		st.req.start()
	}()
	steps := []func(context.Context) error{st.line.parentBegun, st.sameSettings, carriedStart{st}.finishLast, st.takeLock, st.openPlacement}
	for _, step := range steps[:2] {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if read {
		if restored, err = (carriedStart{st}).begin(ctx); err != nil || restored != nil {
			if begun = err == nil; begun {
				st.attend(restored)
			}
			return restored, err
		}
	}
	for _, step := range steps[2:] {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	st.line.attempt.sameDirectory = st.placement.OnNodes() // whatever comes home from there is looked for
	found, err := st.survey(ctx)
	if err == nil && found.Late != nil {
		err = found.Late
	}
	if err != nil {
		return nil, err
	}
	st.line.stored.SetDamaged(found.damaged)
	if err := st.checkProblem(ctx, found); err != nil {
		return nil, err
	}
	if !st.opt.ReadOnRestart && !found.Own || st.line.parent != nil && !st.line.parent.attempt.read {
		read = false // what is stored belongs to another run, of this checkpoint or of the parent
	}
	if read {
		if err := st.strict(ctx, found); err != nil {
			return nil, err
		}
	}
	if err := st.placement.Sweep(ctx); err != nil {
		return nil, err
	}
	if st.root() && len(found.Candidates)+len(found.abandoned) > 0 { // of which parts may be brought to other nodes
		st.takeOver(ctx, found.Used)
	}
	if read {
		if restored, err = st.restore(ctx, found); err != nil {
			return nil, returning{st, found}.failed(err)
		}
	}
	if restored == nil {
		if _, err := st.agree(ctx, st.adoptedNothing(read)); err != nil {
			return nil, err
		}
		st.tellReplaced(found, read)
	}
	st.line.attempt.read = read
	err = st.agreeOnAttempt(ctx, found, restored)
	begun = err == nil
	if begun {
		st.placement.SkipNumbers(found.Highest, found.Used)
		st.repairLevels(restored)
	}
	return restored, err
}

// attend has the demands of the job attended to from now on. What was restored is known before: where a restart
// would begin may be told at once.
func (st *starting) attend(restored *container.Header) {
	if restored != nil {
		id, _ := storage.Identity(*restored)
		st.line.good.Store(&good{id, restored.Version, restored.Iteration})
	}
	st.meet.begin()
}

// abandon gives the lock back when the attempt could not begin, so that the
// call can be made again.
func (st *starting) abandon() {
	if !st.light {
		st.giveBack()
	}
	st.light = false
	closePlacement(st.core, true)
	st.placement, st.store.Driver, st.store.Possible = nil, st.home, nil
	giveBackLock(st.core, st.lock)
	st.lock = nil
}

func (st *starting) takeLock(ctx context.Context) error {
	// Before rank 0, which may be a replacement that knows of no other base, has made its lock
	// there: with that the base would look right to all.
	_, err := st.agree(ctx, st.home.CheckBase())
	if err != nil {
		return err
	}
	if st.root() {
		st.lock, err = st.home.Lock(ctx)
		if errors.Is(err, storage.ErrLocked) && env.CurrentRole() == env.RoleRank && st.comm.Session().JobName() == "" {
			err = fmt.Errorf("%w; this process is a rank of a job, and a checkpoint without a communicator is one of each rank alone: "+
				"for one of all ranks, give checkpoint.New that of the zone (aft.Run, Zone.Comm)", err)
		}
	}
	_, err = st.agree(ctx, err)
	return err
}

// checkProblem keeps a fresh start from writing over another problem's versions.
func (st *starting) checkProblem(ctx context.Context, found survey) error {
	var err error
	stored := slices.Concat(found.Candidates, found.abandoned)
	if at := slices.IndexFunc(stored, func(c catalog.Candidate) bool { return c.Known }); st.root() && at >= 0 {
		err = checkFingerprint(st.core, stored[at].Fingerprint)
	}
	if have := nesting(st.line.ancestors()); err == nil && found.Nesting != "" && found.Nesting != have {
		err = fmt.Errorf("%w: %s: its versions are %s, now it is %s: use SubCP as before, another name, or another path",
			ErrFingerprint, st.dir(), found.Nesting, have)
	}
	_, err = st.agree(ctx, err)
	return err
}

// identity is what rank 0 draws for all.
type identity struct {
	Attempt container.AttemptID
	Lineage container.LineageID
	Anew    container.LineageID // as of attempt
	Before  int64               // the last iteration that was done before
	// Fruitless is how many starts before this one were asked to end and have stored nothing new.
	Fruitless int
}

func (st *starting) agreeOnAttempt(ctx context.Context, found survey, restored *container.Header) error {
	draw := identity{Attempt: st.line.attempt.id} // of rank 0, drawn when it looked
	var err error
	if st.root() {
		draw.Lineage, draw.Before = st.line.newLineage(), st.acc.doneBefore(found.told.Runs, restored)
		if st.light {
			draw.Before = found.reached
		}
		if draw.Anew = st.line.beganAnew(found, restored, draw.Lineage); draw.Anew != (container.LineageID{}) {
			draw.Lineage = draw.Anew
		}
		st.line.attempt.anewStored = found.told.AnewStored(draw.Anew)
		st.line.attempt.before = found.told.Runs
		draw.Fruitless = st.countFruitless(found.told.Runs, restored)
		st.line.attempt.ahead = aheadOf(found.told.Runs, st.line.attempt.started)
		if st.light {
			err = carriedStart{st}.prepare(ctx, found)
		} else {
			err = st.prepare(ctx, found, restored)
		}
	}
	draw, err = fromRoot(ctx, st.core, draw, err)
	if err != nil {
		return err
	}
	st.line.attempt.anew = draw.Anew
	if st.line.parent == nil {
		ofStarts.begun(draw.Fruitless)
	}
	returning{st, found}.follow(restored)
	switch {
	case restored != nil:
		draw.Lineage = restored.Lineage
		st.line.attempt.origin, _ = storage.Identity(*restored)
		if st.placement.Kept(st.line.attempt.origin).Volatile {
			st.line.attempt.memory = inMemory{Version: restored.Version, Iteration: restored.Iteration, restored: true}
		} else {
			st.line.attempt.settled = restored.Version
		}
		st.line.attempt.newest = st.line.attempt.origin
		st.line.point = pointOf(*restored)
		st.up.goOnWith(ctx, restored.Lineage)
	case st.line.parent != nil:
		draw.Lineage = st.line.parent.attempt.lineage
	}
	st.line.attempt.begun = true
	st.line.attempt.id = draw.Attempt
	st.line.redo.before = draw.Before
	st.line.attempt.lineage = draw.Lineage
	st.line.attempt.last = found.Used
	if st.root() && st.line.attempt.read {
		st.line.inherit(found.told.Runs)
	}
	return nil
}

// prepare makes the directory and removes what crashed runs have left: every
// version that is not complete, but for those that may be again: of one that is told
// of no crash has taken a part, and somebody may still find it. One that has become
// complete since the survey is of a job that has lost the lock, and a branch that this
// run does not know.
func (st *starting) prepare(ctx context.Context, found survey, restored *container.Header) error {
	if err := st.mayWrite(); err != nil { // reading may have taken long
		return err
	}
	var newest uint64 // of what is used
	if restored != nil {
		newest = restored.Version
	}
	st.line.stored.Clear()             // if the attempt begins a second time
	for _, v := range found.versions { // before anything is deleted
		if !v.Complete() {
			st.tellIncomplete(v, newest)
		}
	}
	if err := (returning{st, found}).take(ctx); err != nil {
		return err
	}
	known := make(map[storage.ID]bool)
	for _, v := range slices.Backward(found.versions) { // the newest first
		if known[v.ID] = v.Complete(); !known[v.ID] && st.placement.OnNodes() && !st.placement.Kept(v.ID).Volatile {
			st.line.stored.WaitFor(st.placement.Kept(v.ID), v.ID.Version > newest && v.status != catalog.Interrupted)
		}
	}
	keep := func(e storage.Entry) bool {
		return e.Complete() && known[e.ID] || st.line.stored.WaitsFor(e.ID) || e.ID.Version > newest && found.told.TellsOf(e.ID)
	}
	if err := st.placement.Prepare(ctx, keep); err != nil {
		return err
	}
	for _, v := range found.versions {
		if v.Complete() {
			kept := st.placement.Kept(v.ID)
			kept.Oldest = max(kept.Oldest, v.header.Oldest)
			st.line.stored.Add(kept, v.header)
		}
		if v.passed {
			st.line.stored.PassOver(v.ID)
		}
	}
	return nil
}

// tellIncomplete says that a version cannot be used, and what it lacks. Of one that
// is older than what is used nobody needs anything.
func (st *starting) tellIncomplete(v sighting, newest uint64) {
	switch {
	case len(v.Away) > 0 && !st.placement.OnNodes(): // see away
	case v.status == catalog.Interrupted:
		st.log.Info("incomplete version of an interrupted write is not used", "version", v.ID.Version)
	case v.elsewhere:
		st.log.Info("incomplete version of another stage or branch is not used", "version", v.ID.Version)
	case v.ID.Version < newest:
		st.log.Info("incomplete version is not used, a newer one is complete", "version", v.ID.Version)
	case v.status == catalog.Lost:
		st.log.Warn("a version cannot be restored", "version", v.ID.Version, "lost", st.placement.Absence().Missing(v.ID))
	default:
		st.log.Warn("a version cannot be restored: it has lost parts, or its write was interrupted", "version", v.ID.Version, "missing", st.placement.Absence().Missing(v.ID))
	}
}

// RestartIfNeeded reads the newest usable version into the added values, if
// there is one, and sets *iter to the iteration after the one that it was
// written at (iter may be nil; a version without an iteration leaves it). It
// acts once: later calls, and calls after a write, return at once; with ErrState if
// the checkpoint is nested and its last stage has not ended. Without
// stored versions it changes nothing, nor with CRAFT_READ_CP_ON_RESTART=0, unless the
// job recovers: then it reads what the job has written since it began. Of a
// nested checkpoint only a version of the present stage is read: see SubCP.
//
// Errors: ErrNoUsableVersion, ErrStrict, ErrFingerprint, ErrKey, ErrRanks, ErrDisagree,
// storage.ErrLocked, errors of the file system, and of the communicator. After
// an error all values are as they were, but for those of the keys that an
// *UndefinedError in it names; and nothing can be written until the call has been
// made again and succeeded: the newest versions must not be driven out by those of
// a program that has not read them. Where it returns nil, what the version does not
// hold (an Optional key, a field of a struct) is as it was before the call.
func (cp *Checkpoint) RestartIfNeeded(ctx context.Context, iter *int) error {
	return cp.call("RestartIfNeeded", func() error {
		if cp.line.attempt.begun {
			return cp.line.stageEnded()
		}
		end, err := cp.meet.arriveAtStart(ctx)
		if err != nil {
			return err
		}
		err = cp.restart(ctx, iter)
		var late *lateError
		switch {
		case errors.As(err, &late):
			return endLate(ctx, cp.meet, late)
		case err != nil || end == nil:
			return err
		}
		return cp.meet.save(ctx, end, func(context.Context) error { return nil })
	})
}

// restart is what RestartIfNeeded does where the attempt has not begun.
func (cp *Checkpoint) restart(ctx context.Context, iter *int) error {
	defer cp.meet.tempo.Wrote()  // what the restart takes is no step
	defer cp.acc.reportRestart() // after the time is known
	defer cp.acc.stats.time(&cp.acc.stats.RestartTime)()
	cp.start.restartErr = errors.New("it did not end") // if a value's own code panics
	cp.reg.touched = make(map[string]bool)
	h, err := cp.start.begin(ctx, true)
	if err != nil && len(cp.reg.touched) > 0 {
		err = &UndefinedError{Keys: slices.Sorted(maps.Keys(cp.reg.touched)), Err: err}
	}
	cp.start.restartErr = err
	if err != nil {
		return fmt.Errorf("restart checkpoint %q: %w", cp.name, err)
	}
	entered := cp.line.point
	cp.line.entered = &entered
	cp.pace.pace() // from here on something is at risk
	if r := cp.up.dueRecord(false); r != nil {
		cp.up.writeRecord(ctx, *r)
	}
	if h == nil {
		return nil
	}
	if iter != nil && h.Iteration == container.NoIteration {
		cp.rootLog.Warn("the restored version was written without an iteration, by Write: the iteration stays what it was",
			"version", h.Version, "iteration", *iter)
	}
	cp.line.finished = storage.Finished(*h)
	cp.acc.stats.Restored, cp.acc.stats.RestoredVersion, cp.acc.stats.RestoredIteration = true, h.Version, h.Iteration
	if iter != nil && h.Iteration != container.NoIteration {
		*iter = int(h.Iteration) + 1 // match has looked that there is one
	}
	cp.acc.goesOn()
	return nil
}

// errVersion adds which version an error is about.
func errVersion(id storage.ID, err error) error {
	var part *storage.PartError
	if err == nil || errors.As(err, &part) {
		return err
	}
	return fmt.Errorf("version %d: %w", id.Version, err)
}
