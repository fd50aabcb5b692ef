package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/placement"
)

// smallReplicated is the size in bytes up to which a replicated value is in
// every rank's file. Larger ones are spread over the files by chunks.
const smallReplicated = 64 << 10

// UpdateAndWrite writes a version if iter % freq == 0 and does nothing
// otherwise. When it returns nil after writing, the version is complete and
// durable on all ranks. When it returns an error no rank has the version, the
// earlier ones are as they were, and the program may go on and call it again.
// Only after an error of the communicator may the version be complete or not.
//
// With several ranks the context should be that of the whole job: when it ends in
// the middle of a collective call, ranks may be out of step, and only Close is of
// use.
//
// In the asynchronous modes it waits for the version before, if that is still
// being written, takes a copy of the values (or, with zero-copy, of the small
// ones and of those whose bytes are not in memory as such), and returns while
// the version is being written. What becomes of that the next call that waits
// says: see AsyncError.
func (cp *Checkpoint) UpdateAndWrite(ctx context.Context, iter, freq int) error {
	if cp.disabled() {
		return nil
	}
	if freq < 1 {
		return fmt.Errorf("checkpoint %q: %w: frequency %d, it must be at least 1", cp.name, ErrArgument, freq)
	}
	if err := cp.ready("UpdateAndWrite"); err != nil {
		return err
	}
	defer cp.calling.Unlock()
	cp.done(int64(iter))
	if iter%freq != 0 {
		cp.nextStage()
		cp.recordBetween(ctx)
		if cp.opt.Debug >= 4 {
			cp.message("UpdateAndWrite is not due", "iteration", iter, "frequency", freq)
		}
		return nil
	}
	if iter == math.MinInt || iter == math.MaxInt {
		return fmt.Errorf("checkpoint %q: %w: iteration %d, it must be greater than %d, which stands for none, and less than %d, so that there is a next one",
			cp.name, ErrArgument, iter, math.MinInt, math.MaxInt)
	}
	return cp.write(ctx, int64(iter))
}

// Write writes a version now, without an iteration: a restart leaves the
// iteration of the program as it is. It is for programs that add their own
// position. A loop that counts iterations and wants to save now (on a signal,
// say) calls UpdateAndWrite(ctx, iter, 1). See there.
func (cp *Checkpoint) Write(ctx context.Context) error {
	if cp.disabled() {
		return nil
	}
	if err := cp.ready("Write"); err != nil {
		return err
	}
	defer cp.calling.Unlock()
	return cp.write(ctx, container.NoIteration)
}

func (cp *Checkpoint) write(ctx context.Context, iteration int64) error {
	defer cp.stats.time(&cp.stats.CheckpointTime)()
	cp.nextStage() // also if nothing is captured
	if cp.restartErr != nil {
		return fmt.Errorf("checkpoint %q: %w: nothing is written after a failed RestartIfNeeded, call it again: %w", cp.name, ErrState, cp.restartErr)
	}
	earlier, err := cp.join(ctx)
	if err == nil && !cp.attempt.begun {
		if _, err = cp.begin(ctx, false); err != nil {
			return fmt.Errorf("first write of checkpoint %q: %w", cp.name, err)
		}
	}
	switch {
	case err != nil:
	case cp.skips(iteration):
		cp.startMaintenance()
	default:
		if cp.writer != nil {
			err = cp.launch(ctx, cp.nextHeader(iteration))
		} else {
			err = cp.writeAndMakeRoom(ctx, iteration)
		}
	}
	if err = errors.Join(earlier, err); err != nil {
		return fmt.Errorf("write checkpoint %q: %w", cp.name, err)
	}
	return nil
}

// skips reports that the version could never be restored, because its stage
// cannot be reached by a restart.
func (cp *Checkpoint) skips(iteration int64) bool {
	if !cp.unreachable() {
		return false
	}
	if !cp.skipped && cp.root() {
		cp.log.Info("a version is skipped: the checkpoint around it has not stored the stage before, so it could never be restored (further ones are skipped without a message)",
			"iteration", iterationAttr(iteration), "parent", cp.parent.name)
	}
	cp.skipped = true
	cp.stats.VersionsSkipped++
	return true
}

// writeAndMakeRoom deletes the versions that need not be kept, and writes one in the
// calling goroutine. If there is no room for it, and there may be now, because rank 0
// has deleted something meanwhile, it does so once more.
func (cp *Checkpoint) writeAndMakeRoom(ctx context.Context, iteration int64) error {
	removed, err := cp.writeNow(ctx, cp.nextHeader(iteration))
	if commFailed(err) || !vfs.IsFull(err) {
		return err // or the others may not know of it
	}
	if cp.root() {
		removed += cp.outermost().makeRoom(ctx)
	}
	again, failed := fromRoot(ctx, cp.core, removed > 0, nil)
	if failed != nil || !again {
		return errors.Join(err, failed)
	}
	_, err = cp.writeNow(ctx, cp.nextHeader(iteration))
	return err
}

// writeNow writes a version in the calling goroutine, and tells how many others it has
// deleted.
func (cp *Checkpoint) writeNow(ctx context.Context, h container.Header) (removed int, err error) {
	f := &flight{header: h, before: cp.point}
	f.err = cp.update(f)
	if err := cp.givenUp(); err != nil {
		return 0, err
	}
	if f.err == nil {
		f.err = cp.describeAll(&f.header)
	}
	if f.err == nil {
		f.write(ctx, cp)
	} else {
		cp.skipPart(h)
	}
	err = cp.settleFlight(ctx, f)
	if err == nil {
		cp.point = point{attempt: h.Attempt, version: h.Version}
	}
	return f.removed, errVersion(storage.ID{Version: h.Version}, err)
}

// nextHeader is that of the next version, whose number is consumed also if it fails.
func (cp *Checkpoint) nextHeader(iteration int64) container.Header {
	cp.attempt.last++
	h := container.Header{
		Name: cp.name, Lineage: cp.attempt.lineage, Attempt: cp.attempt.id,
		Version: cp.attempt.last, Iteration: iteration,
		Rank: int(cp.comm.Rank()), Size: cp.comm.Size(),
		Created: time.Now(), Ancestors: cp.ancestors(), Fingerprint: cp.fingerprint,
		Fields: storage.WithOrigin(nil, cp.attempt.origin),
	}
	storage.SetPlanned(&h, cp.place.Plan(h.Version))
	cp.nextDelta(&h)
	return h
}

// update lets the values fetch what they store. All are updated before any is
// looked at: the Update of one may change another.
func (cp *Checkpoint) update(f *flight) error {
	defer cp.stats.time(&f.phases.Update)()
	for _, e := range cp.entries {
		if u, ok := e.value.(cptypes.Updater); ok {
			if err := u.Update(); err != nil {
				return &KeyError{Key: e.key, Err: err}
			}
		}
	}
	return nil
}

// givenUp returns an error if Update has led to Zone.Repair: there is nobody to settle
// the version with.
func (cp *Checkpoint) givenUp() error {
	if !cp.closed {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrState, cp.afterClose("a write"))
}

// describeAll describes the present state of all values in cp.sections, which
// are kept from version to version, and adds to the header what it says of them.
func (cp *Checkpoint) describeAll(h *container.Header) error {
	if cp.sections == nil {
		cp.sections = make([]container.Section, len(cp.entries))
	}
	for i := range cp.entries {
		cp.describe(&cp.entries[i], &cp.sections[i])
	}
	cp.noteSharing(h)
	cp.noteFamily(h)
	cp.noteSettled(h)
	return cp.stateExtents(h)
}

// describe fills the section of one value.
func (cp *Checkpoint) describe(e *entry, s *container.Section) {
	*s = container.Section{Key: e.key, Desc: cptypes.DescOf(e.value)}
	if spans, ok := spansOf(e.value); ok {
		s.Spans = spans
	} else {
		s.Source = e.value
	}
	if s.Desc.Dist == container.Replicated && cp.comm.Size() > 1 && sizeOf(e.value) > smallReplicated {
		rank, ranks := int(cp.comm.Rank()), cp.comm.Size()
		s.Stores = func(chunk int) bool { return chunk%ranks == rank }
	}
}

func spansOf(v cptypes.Value) ([][]byte, bool) {
	if s, ok := v.(cptypes.Spanner); ok {
		return s.Spans()
	}
	return nil, false
}

// sizeOf returns the stored size of v in bytes, 0 if v does not tell.
func sizeOf(v cptypes.Value) int64 {
	if s, ok := v.(cptypes.Sizer); ok {
		return s.Size()
	}
	return 0
}

// settleFlight ends a write on all ranks together and keeps the accounts.
func (cp *Checkpoint) settleFlight(ctx context.Context, f *flight) error {
	began := time.Now()
	outcome, err := cp.settle(ctx, f)
	cp.store.Settle(f.header.Version, err == nil, outcome.Levels)
	if err == nil {
		cp.deltas.stored(outcome.Levels)
		cp.stats.VersionsWritten++
		if cp.belongs(f.header.Ancestors) {
			cp.attempt.settled = f.header.Version
		}
		cp.stats.BytesWritten += f.done.FileBytes
		if cp.root() {
			cp.published(ctx, f.header, outcome.Levels)
		}
	} else {
		cp.stats.VersionsFailed++
	}
	f.phases.Settle += time.Since(began)
	cp.stats.Phases.add(f.phases)
	cp.reportVersion(f, err)
	return err
}

// settle ends a write on all ranks together: they agree whether the version is
// complete and whether they mean the same by it. If not, nothing of it stays.
func (cp *Checkpoint) settle(ctx context.Context, f *flight) (placement.Outcome, error) {
	h := f.header
	id, _ := storage.Identity(h)
	outcome := cp.place.Outcome(id, f.err == nil)
	_, err := cp.agree(ctx, f.err)
	if err == nil {
		outcome, err = cp.checkTogether(ctx, h, f.done, outcome)
	}
	if err == nil && !cp.attempt.samePlace {
		err = cp.checkPlace(ctx, f)
	}
	if err == nil {
		cp.place.Settled(h, outcome)
		return outcome, nil
	}
	cp.place.Settled(h, placement.Outcome{})
	if cp.root() && (f.err != nil || reported(err)) {
		if rm := cp.store.Remove(context.WithoutCancel(ctx), id); rm != nil {
			cp.log.Warn("failed version not deleted", "version", h.Version, "error", rm)
		}
	}
	return placement.Outcome{}, err
}

// reported reports that the ranks found out together that the version is not
// good, in contrast to a communicator that failed: then it may be complete, and
// a restart may use it.
func reported(err error) bool {
	var remote *RankError
	return errors.As(err, &remote) || errors.Is(err, ErrDisagree)
}
