package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/craft-go/craft/async"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// writing writes versions, in the calls of the program or beside it.
type writing struct {
	*core
	line  *lineage
	reg   *registry
	acc   *accounts
	up    *upkeep
	start *starting
	req   *requests
	pace  *pacing

	deltas   deltas
	staging  *async.Staging
	meet     *meetings
	listener listener        // of WithAfterVersion
	demanded *demand.Meeting // what the next version is asked for at; nil: it is due by itself
	// finishing: the next version is the last one of the run.
	finishing bool
	skipped   bool     // a write that could never be restored was skipped and logged
	labels    []string // of the milestone that the next version is to be
	last      lastMilestones
}

// flight is one version on its way from capture to settlement.
type flight struct {
	header   container.Header
	ticket   *async.Ticket // of the background write; nil: there is none
	before   point         // of the checkpoint if the write fails, this call included
	expect   int64         // bytes, as far as they are known before
	checks   []check       // of values that may change
	phases   Phases
	demanded *demand.Meeting // what it was asked for at; nil: it was due by itself
	// captured is what went wrong before everything was copied.
	captured error

	// Set by the write, read when the ticket is done.
	removed int // versions that were deleted before
	done    part
	err     error
}

func (f *flight) id() storage.ID {
	id, _ := storage.Identity(f.header)
	return id
}

// part is what this rank knows of the version that it has written.
type part struct {
	storage.Written
	sections []container.Section
	labels   []string // of the milestone that it is to be
}

// check is a value that must not change while it is written.
type check struct {
	section int
	digest  uint64   // when it was captured
	spans   [][]byte // its own memory, to be looked at again in the end; nil: it is not
}

// write encodes, stores and publishes this rank's part.
func (f *flight) write(ctx context.Context, wr *writing) {
	f.done.sections = wr.reg.sections
	mayWrite := wr.mayWrite
	if memoryAlone(wr.core, f.header) { // the lock is that of a directory which is not touched
		mayWrite = wr.comm.Lease
	}
	if f.err = mayWrite(); f.err != nil {
		wr.skipPart(f.header)
		return
	}
	f.makeRoom(ctx, wr)
	defer wr.acc.stats.time(&f.phases.Write)()
	wr.up.reserve(ctx, f.id())
	f.done.Written, f.err = wr.store.Write(ctx, f.header, wr.reg.sections, func(w storage.Written) error {
		if err := f.unchanged(wr, w); err != nil {
			return err
		}
		return mayWrite() // others may have gone on without this rank, or this job, meanwhile
	})
	f.err = disagreed(f.err)
	if f.err != nil && ctx.Err() != nil && !errors.Is(f.err, context.Cause(ctx)) {
		f.err = fmt.Errorf("%w (%w)", f.err, context.Cause(ctx))
	}
}

// makeRoom deletes what need not be kept, by leave of mayWrite. What was deleted since the write
// before counts: another rank may have begun this one while that was still there.
func (f *flight) makeRoom(ctx context.Context, wr *writing) {
	if wr.writer == nil { // the program waits for it
		defer wr.acc.stats.time(&f.phases.Settle)()
	}
	wr.up.doPermitted(ctx)
	f.removed = int(wr.up.maintenance.gone.Swap(0))
}

// unchanged compares what was written, and what is in the values' memory now,
// with what was captured.
func (f *flight) unchanged(wr *writing, w storage.Written) error {
	for _, c := range f.checks {
		now := c.digest
		if c.spans != nil {
			now = container.Digest(c.spans, wr.store.ChunkSize())
		}
		if w.Digests[c.section] != c.digest || now != c.digest {
			return &KeyError{Key: wr.reg.sections[c.section].Key, Err: fmt.Errorf("%w: in mode %v, before Wait had returned; the version is not stored", ErrChanged, wr.mode())}
		}
	}
	return nil
}

// launch begins the background write of a version and returns when the values
// have been copied as far as the mode copies them. What goes wrong in a program
// of one rank before it returns, it returns; otherwise the ranks find out
// together when they join.
func (wr *writing) launch(ctx context.Context, h container.Header) error {
	f := wr.newFlight(&flight{header: h, before: wr.line.point, demanded: wr.demanded})
	f.captured = wr.update(f)
	if err := wr.givenUp(); err != nil {
		return err
	}
	if f.captured == nil {
		f.captured = wr.capture(ctx, f)
	}
	if f.ticket == nil {
		wr.skipPart(h) // the copying failed before there was a writer
	}
	wr.line.flight.Store(f)
	wr.line.point = pointOf(f.header)
	if f.captured == nil || wr.comm.Size() > 1 {
		return nil
	}
	failed, err := wr.join(ctx)
	return errors.Join(failed, err)
}

func (wr *writing) capture(ctx context.Context, f *flight) (err error) {
	began := time.Now()
	defer func() { f.phases.Copy = time.Since(began) }()
	if err := wr.reg.describeAll(&f.header); err != nil {
		return err
	}
	copies := wr.chooseCopies(f)
	if err := wr.staging.Begin(copies); err != nil {
		return err
	}
	if err := wr.up.maintenanceDone(ctx); err != nil {
		return err
	}
	f.ticket, err = wr.writer.Start(func(ctx context.Context) error {
		defer wr.staging.Abandon()
		f.write(ctx, wr)
		return f.err
	})
	if err != nil {
		return err
	}
	wr.line.flight.Store(f) // whatever happens now, it must be waited for
	defer func() { wr.staging.Seal(err) }()
	for i := range wr.reg.sections {
		if wr.reg.sections[i].Feed == nil {
			continue
		}
		key := wr.reg.entries[i].key
		err = &KeyError{Key: key, Err: errNotCopied} // unless it returns
		if err := wr.stage(ctx, wr.reg.entries[i].value); err != nil {
			return &KeyError{Key: key, Err: err}
		}
	}
	return nil
}

// errNotCopied is of a version that a panic, or the end of the goroutine, has cut off.
var errNotCopied = errors.New("the value's own code panicked, or ended its goroutine, while it was copied; the version is not stored")

// chooseCopies decides which values are copied, and how many bytes that are at least.
// Of those that may change while they are written it takes the digest.
func (wr *writing) chooseCopies(f *flight) (bytes int64) {
	for i := range wr.reg.sections {
		s, size := &wr.reg.sections[i], sizeOf(wr.reg.entries[i].value)
		f.expect += size
		direct := s.Source == nil && wr.mode() == AsyncZeroCopy && size >= wr.opt.zeroCopyFrom
		checked := s.Source == nil && wr.opt.AsyncCheck || direct && !wr.opt.modeGiven
		if checked {
			c := check{section: i, digest: container.Digest(s.Spans, wr.store.ChunkSize())}
			if direct && wr.opt.AsyncCheck {
				c.spans = s.Spans
			}
			f.checks = append(f.checks, c)
		}
		if direct {
			s.Volatile = checked || wr.opt.Delta // with that, later versions may refer to it
			continue
		}
		s.Spans, s.Source, s.Feed = nil, nil, wr.staging
		bytes += size
	}
	return bytes
}

func (wr *writing) stage(ctx context.Context, v cptypes.Value) error {
	if spans, ok := spansOf(v); ok {
		return wr.staging.Copy(ctx, spans)
	}
	return wr.staging.CopyFrom(ctx, v)
}

// startMaintenance does what is left to do by itself, when no version follows soon.
func (u *upkeep) startMaintenance() {
	if f := u.line.flight.Load(); u.writer == nil || f != nil && !f.landed() { // a version does them
		return
	}
	if u.maintaining != nil && !u.maintaining.Ended() || !u.maintenance.any() {
		return
	}
	ticket, err := u.writer.Start(func(ctx context.Context) error {
		u.doMaintenance(ctx)
		return nil
	})
	if err == nil { // otherwise the next version, or Close, does them
		u.maintaining = ticket
	}
}

// landed reports whether this rank's part of a version is written, or will never be.
func (f *flight) landed() bool { return f.ticket == nil || f.ticket.Ended() }

// maintenanceDone waits for maintenance that is being done by itself.
func (u *upkeep) maintenanceDone(ctx context.Context) error {
	if u.maintaining == nil {
		return nil
	}
	if err := u.maintaining.Wait(ctx); !u.maintaining.Ended() {
		return err
	}
	return nil // it has none of its own
}

// join waits for the background write, if there is one, and settles it with the
// other ranks. failed is what became of the version; err means that the call
// cannot go on: the context has ended, and the write goes on, or the
// communicator has failed.
func (wr *writing) join(ctx context.Context) (failed, err error) {
	f := wr.line.flight.Load()
	if f == nil {
		return nil, nil
	}
	if err := wr.await(ctx, f); err != nil {
		return nil, fmt.Errorf("waiting for version %d, which is being written: %w", f.header.Version, err)
	}
	wr.line.flight.Store(nil)
	err = wr.settleFlight(ctx, f)
	if stays := wr.landMilestone(ctx, f, err); err == nil {
		return stays, nil
	}
	distrust(wr.core, err)
	f.before.calls += wr.line.point.calls
	wr.line.point = f.before
	if reported(err) || f.err != nil && !commFailed(err) {
		return &AsyncError{Version: f.header.Version, Iteration: f.header.Iteration, Err: err}, nil
	}
	return nil, err
}

func (wr *writing) await(ctx context.Context, f *flight) error {
	if f.ticket != nil {
		defer wr.acc.stats.time(&f.phases.Wait)()
		err := f.ticket.Wait(ctx)
		if !f.ticket.Ended() {
			return err
		}
		// Not what Wait has returned: ctx may have ended just before the write.
		f.err = f.ticket.Err()
	}
	// The writer fails because of the copying or the other way round.
	if f.captured != nil && !errors.Is(f.captured, async.ErrAborted) {
		f.err = f.captured
	}
	return nil
}

// Wait waits until no asynchronous write is under way, on any rank. nil: the
// last version is complete and durable on all ranks, or there was none to wait
// for. With zero-copy, the values may be changed when it has returned, with
// whatever error but that of the context: then the write goes on. It is
// collective.
func (cp *Checkpoint) Wait(ctx context.Context) error {
	return cp.call("Wait", func() error {
		defer cp.meet.tempo.Pauses()()
		return cp.out.wait(ctx)
	})
}

func (wr *writing) wait(ctx context.Context) error {
	if wr.line.flight.Load() == nil {
		return nil
	}
	defer wr.acc.stats.time(&wr.acc.stats.CheckpointTime)()
	failed, err := wr.join(ctx)
	if wr.up.maintenance.any() && wr.mayWrite() == nil { // who is told that it is stored expects to be told if it is gone
		wr.up.writeMetadata(context.WithoutCancel(ctx))
	}
	wr.up.startMaintenance()
	if err = errors.Join(failed, err); err != nil {
		return fmt.Errorf("checkpoint %q: %w", wr.name, err)
	}
	return nil
}

// drain ends the background write at Close, without the other ranks.
func (wr *writing) drain() error {
	if wr.writer == nil {
		return nil
	}
	defer wr.acc.stats.time(&wr.acc.stats.CheckpointTime)()
	if err := wr.writer.Close(wr.opt.DrainTimeout); err != nil {
		return err
	}
	f := wr.line.flight.Load()
	if f == nil {
		return nil
	}
	ctx := context.Background()
	if wr.comm.Size() == 1 {
		failed, err := wr.join(ctx)
		return errors.Join(failed, err)
	}
	wr.line.flight.Store(nil)
	if err := wr.await(ctx, f); err != nil {
		return err
	}
	if f.explain(wr); f.err != nil {
		distrust(wr.core, f.err)
		wr.acc.stats.VersionsFailed++
		return &AsyncError{Version: f.header.Version, Iteration: f.header.Iteration, Err: f.err}
	}
	wr.acc.stats.VersionsWritten++
	wr.acc.stats.BytesWritten += f.done.FileBytes
	wr.acc.stats.Phases.add(f.phases)
	return wr.endAlone(ctx, f)
}

// endAlone tells of a version that is complete, as rank 0 sees, without the other ranks.
func (wr *writing) endAlone(ctx context.Context, f *flight) error {
	known := !wr.placement.OnNodes() && wr.root() && allParts(wr, ctx, f.header) == nil
	if known {
		tellListener(wr, f, 0)
		wr.up.published(ctx, f.header, 0)
		wr.meet.stored(f.demanded, f.header, 0)
	}
	if len(f.done.labels) == 0 {
		return nil
	}
	if known {
		return marks{wr.up}.set(ctx, waitingMilestone{id: f.id(), oldest: f.header.Oldest, labels: f.done.labels})
	}
	wr.rootLog.Warn("a version is no milestone, as nobody has waited for it: call Wait before Close", "version", f.header.Version)
	return nil
}

// Progress tells how far an asynchronous write is.
type Progress struct {
	Writing   bool
	Version   uint64
	Iteration int64 // or NoIteration
	Bytes     int64 // written so far by this rank, after compression
	// Expected is the size of the values in bytes, without those that cannot
	// tell theirs.
	Expected int64
}

// Progress tells how far the write is that goes on in the background, or the
// last one before it is waited for; Writing is false if there is none. It may be
// called by any goroutine at any time.
func (cp *Checkpoint) Progress() Progress {
	if cp.line == nil {
		return Progress{}
	}
	f := cp.line.flight.Load()
	if f == nil {
		return Progress{}
	}
	return Progress{
		Writing: !f.landed(), Version: f.header.Version, Iteration: f.header.Iteration,
		Bytes: cp.store.Progress(), Expected: f.expect,
	}
}
