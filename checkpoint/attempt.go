package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/stack"
)

// attempt is what the ranks have agreed on for this run. Every version that
// the run writes carries it.
type attempt struct {
	begun   bool
	read    bool // what is stored was looked at, here and around
	started time.Time
	id      container.AttemptID
	lineage container.LineageID
	last    uint64       // number of the last version, of any attempt or of this one
	lock    storage.Lock // on rank 0
	// boxes is this rank's part of the partitioned values when the ranks last
	// checked that their boxes fit together.
	boxes string
	// samePlace: the ranks have found out that they write to one place.
	samePlace bool
}

// begin starts the attempt: rank 0 takes the lock and looks at what is stored,
// the newest usable version is restored if that is wanted, and the ranks agree
// on lineage, attempt and the next number.
func (cp *Checkpoint) begin(ctx context.Context, read bool) (restored *container.Header, err error) {
	cp.attempt.started = time.Now()
	begun := false
	defer func() {
		if !begun { // also when a value's own code panics
			cp.abandon()
		}
	}()
	if err := cp.parentBegun(); err != nil {
		return nil, err
	}
	if err := cp.sameSettings(ctx); err != nil {
		return nil, err
	}
	if err := cp.lock(ctx); err != nil {
		return nil, err
	}
	if err := cp.openLevels(ctx); err != nil {
		return nil, err
	}
	found, err := cp.survey(ctx)
	if err != nil {
		return nil, err
	}
	if err := cp.guard(ctx, found); err != nil {
		return nil, err
	}
	if cp.parent != nil && !cp.parent.attempt.read {
		read = false // what is stored belongs to another run of the parent
	}
	if read {
		if restored, err = cp.restore(ctx, found); err != nil {
			return nil, err
		}
	}
	if restored == nil && len(found.Candidates) > 0 && cp.root() {
		cp.log.Warn("a new lineage starts without reading what is stored; its versions will replace the stored ones",
			"complete_versions", len(found.Candidates)+found.Older, "path", cp.dir())
	}
	cp.attempt.read = read
	err = cp.agreeOnAttempt(ctx, found, restored)
	begun = err == nil
	if begun {
		if cp.stack != nil {
			cp.stack.Skip(found.Highest, found.Used)
		}
		cp.mendLevels(restored)
	}
	return restored, err
}

// abandon gives the lock back when the attempt could not begin, so that the
// call can be made again.
func (cp *Checkpoint) abandon() {
	cp.giveBack()
	cp.closeLevels(true)
	cp.stack, cp.store.Driver, cp.store.Possible = nil, cp.home, nil
	if cp.attempt.lock == nil {
		return
	}
	if err := cp.attempt.lock.Unlock(); err != nil {
		cp.log.Warn("lock not given back", "error", err)
	}
	cp.attempt.lock = nil
}

func (cp *Checkpoint) lock(ctx context.Context) error {
	var err error
	if locker, ok := cp.store.Driver.(storage.Locker); ok && cp.root() {
		cp.attempt.lock, err = locker.Lock(ctx)
	}
	_, err = cp.agree(ctx, err)
	return err
}

// guard keeps a fresh start from writing over another problem's versions.
func (cp *Checkpoint) guard(ctx context.Context, found survey) error {
	var err error
	if cp.root() && len(found.Candidates) > 0 && found.Candidates[0].Known {
		c := found.Candidates[0]
		err = cp.checkFingerprint(c.Fingerprint)
	}
	if have := nesting(cp.ancestors()); err == nil && found.Nesting != "" && found.Nesting != have {
		err = fmt.Errorf("%w: %s: its versions are %s, now it is %s: use SubCP as before, another name, or another path",
			ErrFingerprint, cp.dir(), found.Nesting, have)
	}
	_, err = cp.agree(ctx, err)
	return err
}

// identity is what rank 0 draws for all.
type identity struct {
	Attempt container.AttemptID
	Lineage container.LineageID
}

func (cp *Checkpoint) agreeOnAttempt(ctx context.Context, found survey, restored *container.Header) error {
	draw := identity{Attempt: cp.attempt.id} // of rank 0, drawn when it looked
	if cp.root() {
		_, _ = rand.Read(draw.Lineage[:])
	}
	var err error
	if cp.root() {
		err = cp.prepare(ctx, found, restored)
	}
	draw, err = fromRoot(ctx, cp, draw, err)
	if err != nil {
		return err
	}
	switch {
	case restored != nil:
		draw.Lineage = restored.Lineage
		cp.point = point{attempt: restored.Attempt, version: restored.Version}
	case cp.parent != nil:
		draw.Lineage = cp.parent.attempt.lineage
	}
	cp.attempt.begun = true
	cp.attempt.id = draw.Attempt
	cp.attempt.lineage = draw.Lineage
	cp.attempt.last = found.Used
	return nil
}

// prepare makes the directory and removes what crashed runs have left: every
// version that is not complete, but for those that may be again.
func (cp *Checkpoint) prepare(ctx context.Context, found survey, restored *container.Header) error {
	p, ok := cp.store.Driver.(storage.Preparer)
	if !ok {
		return nil
	}
	var newest uint64 // of what is used
	if restored != nil {
		newest = restored.Version
	}
	cp.history.forgetAll()            // if the attempt begins a second time
	for _, e := range found.Entries { // before anything is deleted
		if !e.Complete() {
			cp.tellIncomplete(e, found, newest)
		}
	}
	if cp.stack != nil {
		cp.history.waitFor(found, newest, cp.stack.Kept)
	}
	keep := func(e storage.Entry) bool { return e.Complete() || cp.history.waitsFor(e.ID) }
	if err := p.Prepare(ctx, keep); err != nil {
		return err
	}
	for _, e := range found.Entries {
		if !e.Complete() {
			continue
		}
		cp.history.add(e, found.Headers[e.ID])
		if cp.stack != nil {
			cp.history.keep(cp.stack.Kept(e.ID))
		}
	}
	return nil
}

// tellIncomplete says that a version cannot be used, and what it lacks. Of one that
// is older than what is used nobody needs anything.
func (cp *Checkpoint) tellIncomplete(e storage.Entry, found survey, newest uint64) {
	fate := found.Fates[e.ID]
	switch {
	case cp.stack == nil || fate == stack.Interrupted:
		cp.log.Info("incomplete version of an interrupted write is not used", "version", e.ID.Version)
	case e.ID.Version < newest:
		cp.log.Info("incomplete version is not used, a newer one is complete", "version", e.ID.Version)
	case fate == stack.Lost:
		cp.log.Warn("a version cannot be restored", "version", e.ID.Version, "lost", cp.stack.Missing(e.ID))
	default:
		cp.log.Warn("a version cannot be restored: it has lost parts, or its write was interrupted", "version", e.ID.Version, "missing", cp.stack.Missing(e.ID))
	}
}

// RestartIfNeeded reads the newest usable version into the added values, if
// there is one, and sets *iter to the iteration after the one that it was
// written at (iter may be nil; a version without an iteration leaves it). It
// acts once: later calls, and calls after a write, return at once. Without
// stored versions, and with CRAFT_READ_CP_ON_RESTART=0, it changes nothing. Of a
// nested checkpoint only a version of the present stage is read: see SubCP.
//
// Errors: ErrNoUsableVersion, ErrFingerprint, ErrKey, ErrRanks, ErrDisagree,
// storage.ErrLocked, errors of the file system, and of the communicator. After
// an error the added values may hold parts of what is stored, and nothing can be
// written until the call has been made again and succeeded: the newest versions
// must not be driven out by those of a program that has not read them.
func (cp *Checkpoint) RestartIfNeeded(ctx context.Context, iter *int) error {
	if !cp.opt.Enable {
		return nil
	}
	if err := cp.ready("RestartIfNeeded"); err != nil {
		return err
	}
	if cp.attempt.begun {
		return nil
	}
	defer cp.reportRestart() // after the time is known
	defer cp.stats.time(&cp.stats.RestartTime)()
	cp.restartErr = errors.New("it did not end") // if a value's own code panics
	h, err := cp.begin(ctx, cp.opt.ReadOnRestart)
	cp.restartErr = err
	if err != nil {
		return fmt.Errorf("restart checkpoint %q: %w", cp.name, err)
	}
	if r := cp.dueRecord(false); r != nil {
		cp.writeRecord(ctx, *r)
	}
	if h == nil {
		return nil
	}
	if iter != nil && h.Iteration == container.NoIteration && cp.root() {
		cp.log.Warn("the restored version was written without an iteration, by Write: the iteration stays what it was",
			"version", h.Version, "iteration", *iter)
	}
	cp.stats.Restored, cp.stats.RestoredVersion, cp.stats.RestoredIteration = true, h.Version, h.Iteration
	if iter != nil && h.Iteration != container.NoIteration {
		*iter = int(h.Iteration) + 1
	}
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
