package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/placement"
)

// smallReplicated is the size in bytes up to which a replicated value is in
// every rank's file. Larger ones are spread over the files by chunks.
const smallReplicated = 64 << 10

// NoIteration is the iteration of a version that Write has written.
const NoIteration = container.NoIteration

// UpdateAndWrite writes a version if iter % freq == 0 or a trigger makes one due (WithTriggers), and does nothing
// otherwise; with freq 0 the triggers alone count. When it returns nil after writing, the version is complete and
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
	if freq < 0 && !cp.disabled() {
		return fmt.Errorf("checkpoint %q: %w: frequency %d, it must be at least 0", cp.name, ErrArgument, freq)
	}
	if cp.disabled() {
		return cp.meet.callOff(ctx, "UpdateAndWrite")
	}
	return cp.call("UpdateAndWrite", func() error {
		at, err := cp.meet.arrive(ctx, "UpdateAndWrite")
		if err != nil {
			return err
		}
		cp.acc.done(int64(iter))
		due, err := cp.pace.due(ctx, iter, freq)
		wanted := err == nil && cp.meet.wants(at)
		if !due && !wanted && len(cp.out.labels) == 0 {
			cp.line.nextStage()
			if err != nil {
				return err
			}
			cp.up.recordBetween(ctx, called(cp.meet))
			if cp.opt.Debug >= 4 {
				cp.message("UpdateAndWrite is not due", "iteration", iter, "frequency", freq)
			}
			return nil
		}
		if err := mayBeDone(cp.name, iter); err != nil {
			return err
		}
		err = cp.out.writeAt(ctx, at, wanted, int64(iter))
		cp.pace.ended(err)
		return err
	})
}

// mayBeDone refuses an iteration that no version can be of.
func mayBeDone(name string, iter int) error {
	if iter == math.MinInt || iter == math.MaxInt {
		return fmt.Errorf("checkpoint %q: %w: iteration %d, it must be greater than %d, which stands for none, and less than %d, so that there is a next one",
			name, ErrArgument, iter, math.MinInt, math.MaxInt)
	}
	return nil
}

// writeAt writes a version, which is what a meeting demands or is due.
func (wr *writing) writeAt(ctx context.Context, at *demand.Meeting, wanted bool, iteration int64) error {
	if !wr.line.unreachable() {
		defer wr.meet.tempo.Pauses()()
	}
	write := func(ctx context.Context) error { return wr.write(ctx, iteration) }
	if wanted {
		return wr.meet.save(ctx, at, write)
	}
	return write(ctx)
}

// Write writes a version now, without an iteration: a restart leaves the
// iteration of the program as it is. It is for programs that add their own
// position. A loop that counts iterations and wants to save now (on a signal,
// say) calls UpdateAndWrite(ctx, iter, 1). See there.
func (cp *Checkpoint) Write(ctx context.Context) error {
	if cp.disabled() {
		return cp.meet.callOff(ctx, "Write")
	}
	return cp.call("Write", func() error {
		at, err := cp.meet.arrive(ctx, "Write")
		if err != nil {
			return err
		}
		return cp.out.writeAt(ctx, at, cp.meet.wants(at), container.NoIteration)
	})
}

func (wr *writing) write(ctx context.Context, iteration int64) error {
	defer wr.acc.stats.time(&wr.acc.stats.CheckpointTime)()
	wr.line.nextStage() // also if nothing is captured
	if wr.start.restartErr != nil {
		return fmt.Errorf("checkpoint %q: %w: nothing is written after a failed RestartIfNeeded, call it again: %w", wr.name, ErrState, wr.start.restartErr)
	}
	earlier, err := wr.join(ctx)
	if err == nil && !wr.line.attempt.begun {
		if _, err = wr.start.begin(ctx, false); err != nil {
			return fmt.Errorf("first write of checkpoint %q: %w", wr.name, err)
		}
	}
	if err == nil {
		err = wr.pace.begins(ctx)
	}
	if next := wr.nextNumber(); err == nil && wr.light && !wr.placement.Possible(wr.placement.Plan(next)).MemoryAlone() {
		err = carriedStart{wr.start}.openFiles(ctx)
	}
	switch {
	case err != nil:
	case wr.skips(iteration):
		wr.pace.skipped()
		wr.up.startMaintenance()
	case wr.writer != nil:
		err = wr.launch(ctx, wr.nextHeader(iteration))
	default:
		err = wr.writeAndMakeRoom(ctx, iteration)
	}
	if err = errors.Join(earlier, err); err != nil {
		return fmt.Errorf("write checkpoint %q: %w", wr.name, err)
	}
	return nil
}

// skips reports that the version could never be restored, because its stage
// cannot be reached by a restart.
func (wr *writing) skips(iteration int64) bool {
	if !wr.line.unreachable() {
		return false
	}
	if !wr.skipped {
		wr.rootLog.Info("a version is skipped: the checkpoint around it has not stored the stage before, so it could never be restored (further ones are skipped without a message)",
			"iteration", iterationAttr(iteration), "parent", wr.line.parent.name)
	}
	wr.skipped = true
	wr.acc.stats.VersionsSkipped++
	return true
}

// writeAndMakeRoom deletes the versions that need not be kept, and writes one in the
// calling goroutine. If there is no room for it, and there may be now, because rank 0
// has deleted something meanwhile, it does so once more.
func (wr *writing) writeAndMakeRoom(ctx context.Context, iteration int64) error {
	removed, err := wr.writeNow(ctx, wr.nextHeader(iteration))
	if commFailed(err) || !noRoom(err) {
		return err // or the others may not know of it
	}
	if wr.root() {
		removed += wr.line.outermost().up.makeRoom(ctx)
	}
	again, failed := fromRoot(ctx, wr.core, removed > 0, nil)
	if failed != nil || !again {
		return errors.Join(err, failed)
	}
	_, err = wr.writeNow(ctx, wr.nextHeader(iteration))
	return err
}

// writeNow writes a version in the calling goroutine, and tells how many others it has
// deleted.
func (wr *writing) writeNow(ctx context.Context, h container.Header) (removed int, err error) {
	f := wr.newFlight(&flight{header: h, before: wr.line.point, demanded: wr.demanded})
	f.err = wr.update(f)
	if err := wr.givenUp(); err != nil {
		return 0, err
	}
	if f.err == nil {
		f.err = wr.reg.describeAll(&f.header)
	}
	if f.err == nil {
		f.write(ctx, wr)
	} else {
		wr.skipPart(h)
	}
	err = wr.settleFlight(ctx, f)
	if err == nil {
		wr.line.point = pointOf(f.header)
	}
	err = errors.Join(err, wr.landMilestone(ctx, f, err))
	return f.removed, errVersion(storage.ID{Version: h.Version}, err)
}

// nextHeader is that of the next version, whose number is consumed also if it fails.
func (wr *writing) nextHeader(iteration int64) container.Header {
	wr.line.attempt.last = wr.nextNumber()
	h := container.Header{
		Name: wr.name, Lineage: wr.line.attempt.lineage, Attempt: wr.line.attempt.id,
		Version: wr.line.attempt.last, Iteration: iteration,
		Rank: int(wr.comm.Rank()), Size: wr.comm.Size(),
		Created: time.Now(), Ancestors: wr.line.ancestors(), Fingerprint: wr.fingerprint,
	}
	if wr.opt.Sync != SyncFull {
		h.Fields = storage.Unsynced // a crash of the machine may take back what is written
	}
	h.Fields = storage.WithBranch(storage.WithOrigin(h.Fields, wr.line.attempt.origin), wr.line.branch.ID)
	storage.SetPlanned(&h, wr.placement.Plan(h.Version))
	wr.line.noteSettled(&h)
	if wr.finishing {
		h.Fields = h.Fields.With(container.FieldFinished, []byte{1})
	}
	wr.nextDelta(&h)
	return h
}

func (wr *writing) update(f *flight) error {
	defer wr.acc.stats.time(&f.phases.Update)()
	if err := wr.reg.update(); err != nil {
		return err
	}
	return wr.reg.askGuards()
}

// givenUp returns an error if Update has led to Zone.Repair: there is nobody to settle
// the version with.
func (wr *writing) givenUp() error {
	if !wr.closed {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrState, wr.afterClose("a write"))
}

// settleFlight ends a write on all ranks together and keeps the accounts.
func (wr *writing) settleFlight(ctx context.Context, f *flight) error {
	began := time.Now()
	f.explain(wr)
	outcome, err := wr.settle(ctx, f)
	wr.store.Settle(f.header.Version, err == nil, outcome.Levels)
	if err == nil {
		wr.deltas.stored(outcome.Levels)
		wr.line.attempt.newest = f.id()
		wr.line.good.Store(&good{f.id(), f.header.Version, f.header.Iteration})
		wr.line.finished = storage.Finished(f.header)
		if !outcome.Levels.MemoryAlone() {
			ofStarts.stored.Store(true)
			wr.line.demands.GetsOn()
		}
		wr.acc.stats.VersionsWritten++
		if wr.line.belongs(f.header.Ancestors) && !outcome.Levels.MemoryAlone() {
			wr.line.attempt.settled = f.header.Version
		}
		wr.acc.stats.BytesWritten += f.done.FileBytes
		tellListener(wr, f, outcome.Levels)
		if wr.root() {
			wr.up.published(ctx, f.header, outcome.Levels)
			wr.req.counted()
		}
	} else {
		wr.acc.stats.VersionsFailed++
	}
	f.phases.Settle += time.Since(began)
	wr.meet.measured(f, err)
	switch {
	case err == nil:
		wr.req.saved(requestsOf(f.demanded), f.header, outcome.Levels)
		wr.meet.stored(f.demanded, f.header, outcome.Levels)
	case wr.writer != nil && !commFailed(err): // else it may be tried again
		wr.meet.notStored(f.demanded, err)
	}
	wr.acc.stats.Phases.add(f.phases)
	wr.acc.reportVersion(f, err)
	wr.pace.settled(f, err)
	return err
}

// settle ends a write on all ranks together: they agree whether the version is
// complete and whether they mean the same by it. If not, nothing of it stays.
func (wr *writing) settle(ctx context.Context, f *flight) (placement.Outcome, error) {
	h := f.header
	outcome := wr.placement.Outcome(f.id(), f.err == nil)
	_, err := wr.agree(ctx, f.err)
	if err == nil {
		outcome, err = wr.checkConsistency(ctx, h, f.done, outcome)
	}
	if err == nil && !wr.line.attempt.sameDirectory {
		err = checkDirectory(wr, ctx, f)
	}
	if err == nil {
		wr.placement.Settled(h, outcome)
		return outcome, nil
	}
	void := f.err != nil || reported(err)
	wr.placement.Settled(h, placement.Outcome{Void: void})
	if wr.root() && void {
		if rm := wr.store.Remove(context.WithoutCancel(ctx), f.id()); rm != nil {
			wr.log.Warn("failed version not deleted", "version", h.Version, "error", rm)
		}
		if noRoom(err) {
			wr.up.dropSpares() // what was too much is not kept
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
