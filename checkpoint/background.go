package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/craft-go/craft/async"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// flight is one version on its way from capture to settlement.
type flight struct {
	header container.Header
	ticket *async.Ticket // of the background write; nil: there is none
	before point         // of the checkpoint if the write fails, this call included
	expect int64         // bytes, as far as they are known before
	checks []check       // of values that may change
	phases Phases
	// captured is what went wrong before everything was copied.
	captured error

	// Set by the write, read when the ticket is done.
	removed int // versions that were deleted before
	done    part
	err     error
}

// part is what this rank knows of the version that it has written.
type part struct {
	storage.Written
	sections []container.Section
}

// check is a value that must not change while it is written.
type check struct {
	section int
	digest  uint64   // when it was captured
	spans   [][]byte // its own memory, to be looked at again in the end; nil: it is not
}

// write encodes, stores and publishes this rank's part.
func (f *flight) write(ctx context.Context, cp *Checkpoint) {
	f.done.sections = cp.sections
	if f.err = cp.mayWrite(); f.err != nil {
		cp.skipPart(f.header)
		return
	}
	f.makeRoom(ctx, cp)
	defer cp.stats.time(&f.phases.Write)()
	id, _ := storage.Identity(f.header)
	cp.reserve(ctx, id)
	f.done.Written, f.err = cp.store.Write(ctx, f.header, cp.sections, func(w storage.Written) error {
		if err := f.unchanged(cp, w); err != nil {
			return err
		}
		return cp.mayWrite() // others may have gone on without this rank, or this job, meanwhile
	})
	f.err = disagreed(f.err)
	if f.err != nil && ctx.Err() != nil && !errors.Is(f.err, context.Cause(ctx)) {
		f.err = fmt.Errorf("%w (%w)", f.err, context.Cause(ctx))
	}
}

// makeRoom deletes what need not be kept, by leave of mayWrite.
func (f *flight) makeRoom(ctx context.Context, cp *Checkpoint) {
	if cp.writer == nil { // the program waits for it
		defer cp.stats.time(&f.phases.Settle)()
	}
	f.removed = cp.doPermitted(ctx)
}

// unchanged compares what was written, and what is in the values' memory now,
// with what was captured.
func (f *flight) unchanged(cp *Checkpoint, w storage.Written) error {
	for _, c := range f.checks {
		now := c.digest
		if c.spans != nil {
			now = container.Digest(c.spans, cp.store.ChunkSize())
		}
		if w.Digests[c.section] != c.digest || now != c.digest {
			return &KeyError{Key: cp.sections[c.section].Key, Err: fmt.Errorf("%w: in mode %v, before Wait had returned; the version is not stored", ErrChanged, cp.mode())}
		}
	}
	return nil
}

// launch begins the background write of a version and returns when the values
// have been copied as far as the mode copies them. What goes wrong in a program
// of one rank before it returns, it returns; otherwise the ranks find out
// together when they join.
func (cp *Checkpoint) launch(ctx context.Context, h container.Header) error {
	f := &flight{header: h, before: cp.point}
	f.captured = cp.update(f)
	if err := cp.givenUp(); err != nil {
		return err
	}
	if f.captured == nil {
		f.captured = cp.capture(ctx, f)
	}
	if f.ticket == nil {
		cp.skipPart(h) // the copying failed before there was a writer
	}
	cp.flight.Store(f)
	cp.point = point{attempt: h.Attempt, version: h.Version}
	if f.captured == nil || cp.comm.Size() > 1 {
		return nil
	}
	failed, err := cp.join(ctx)
	return errors.Join(failed, err)
}

// capture starts the writer and copies the values.
func (cp *Checkpoint) capture(ctx context.Context, f *flight) (err error) {
	began := time.Now()
	defer func() { f.phases.Copy = time.Since(began) }()
	if err := cp.describeAll(&f.header); err != nil {
		return err
	}
	copies := cp.chooseCopies(f)
	if err := cp.staging.Begin(copies); err != nil {
		return err
	}
	if err := cp.maintenanceDone(ctx); err != nil {
		return err
	}
	f.ticket, err = cp.writer.Start(func(ctx context.Context) error {
		defer cp.staging.Abandon()
		f.write(ctx, cp)
		return f.err
	})
	if err != nil {
		return err
	}
	cp.flight.Store(f) // whatever happens now, it must be waited for
	defer func() { cp.staging.Seal(err) }()
	for i := range cp.sections {
		if cp.sections[i].Feed == nil {
			continue
		}
		key := cp.entries[i].key
		err = &KeyError{Key: key, Err: errNotCopied} // unless it returns
		if err := cp.stage(ctx, cp.entries[i].value); err != nil {
			return &KeyError{Key: key, Err: err}
		}
	}
	return nil
}

// errNotCopied is of a version that a panic, or the end of the goroutine, has cut off.
var errNotCopied = errors.New("the value's own code panicked, or ended its goroutine, while it was copied; the version is not stored")

// chooseCopies decides which values are copied, and how many bytes that are at least.
// Of those that may change while they are written it takes the digest.
func (cp *Checkpoint) chooseCopies(f *flight) (bytes int64) {
	for i := range cp.sections {
		s, size := &cp.sections[i], sizeOf(cp.entries[i].value)
		f.expect += size
		direct := s.Source == nil && cp.mode() == zeroCopy && size >= cp.opt.zeroCopyFrom
		checked := s.Source == nil && cp.opt.AsyncCheck || direct && !cp.opt.modeGiven
		if checked {
			c := check{section: i, digest: container.Digest(s.Spans, cp.store.ChunkSize())}
			if direct && cp.opt.AsyncCheck {
				c.spans = s.Spans
			}
			f.checks = append(f.checks, c)
		}
		if direct {
			s.Volatile = checked || cp.opt.Delta // with that, later versions may refer to it
			continue
		}
		s.Spans, s.Source, s.Feed = nil, nil, cp.staging
		bytes += size
	}
	return bytes
}

func (cp *Checkpoint) stage(ctx context.Context, v cptypes.Value) error {
	if spans, ok := spansOf(v); ok {
		return cp.staging.Copy(ctx, spans)
	}
	return cp.staging.CopyFrom(ctx, v)
}

// startMaintenance does what is left to do by itself, when no version follows soon.
func (cp *Checkpoint) startMaintenance() {
	if f := cp.flight.Load(); cp.writer == nil || f != nil && !f.landed() { // a version does them
		return
	}
	if cp.maintaining != nil && !cp.maintaining.Ended() {
		return
	}
	if cp.maintaining = nil; !cp.maintenance.any() {
		return
	}
	ticket, err := cp.writer.Start(func(ctx context.Context) error {
		cp.doMaintenance(ctx)
		return nil
	})
	if err == nil { // otherwise the next version, or Close, does them
		cp.maintaining = ticket
	}
}

// landed reports whether this rank's part of a version is written, or will never be.
func (f *flight) landed() bool { return f.ticket == nil || f.ticket.Ended() }

// maintenanceDone waits for maintenance that is being done by itself.
func (cp *Checkpoint) maintenanceDone(ctx context.Context) error {
	if cp.maintaining == nil {
		return nil
	}
	err := cp.maintaining.Wait(ctx)
	if !cp.maintaining.Ended() {
		return err
	}
	cp.maintaining = nil
	return nil
}

// join waits for the background write, if there is one, and settles it with the
// other ranks. failed is what became of the version; err means that the call
// cannot go on: the context has ended, and the write goes on, or the
// communicator has failed.
func (cp *Checkpoint) join(ctx context.Context) (failed, err error) {
	f := cp.flight.Load()
	if f == nil {
		return nil, nil
	}
	if err := cp.await(ctx, f); err != nil {
		return nil, fmt.Errorf("waiting for version %d, which is being written: %w", f.header.Version, err)
	}
	cp.flight.Store(nil)
	err = cp.settleFlight(ctx, f)
	if err == nil {
		return nil, nil
	}
	cp.distrust(err)
	cp.point.calls += f.before.calls
	cp.point.attempt, cp.point.version = f.before.attempt, f.before.version
	if reported(err) || f.err != nil && !commFailed(err) {
		return &AsyncError{Version: f.header.Version, Iteration: f.header.Iteration, Err: err}, nil
	}
	return nil, err
}

// await waits for this rank's part.
func (cp *Checkpoint) await(ctx context.Context, f *flight) error {
	if f.ticket != nil {
		defer cp.stats.time(&f.phases.Wait)()
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
	if cp.disabled() {
		return nil
	}
	if err := cp.ready("Wait"); err != nil {
		return err
	}
	defer cp.calling.Unlock()
	return cp.wait(ctx)
}

func (cp *Checkpoint) wait(ctx context.Context) error {
	if cp.flight.Load() == nil {
		return nil
	}
	defer cp.stats.time(&cp.stats.CheckpointTime)()
	failed, err := cp.join(ctx)
	if cp.maintenance.any() && cp.mayWrite() == nil { // who is told that it is stored expects to be told if it is gone
		cp.doNotes(context.WithoutCancel(ctx))
	}
	cp.startMaintenance()
	if err = errors.Join(failed, err); err != nil {
		return fmt.Errorf("checkpoint %q: %w", cp.name, err)
	}
	return nil
}

// drain ends the background write at Close, without the other ranks.
func (cp *Checkpoint) drain() error {
	if cp.writer == nil {
		return nil
	}
	defer cp.stats.time(&cp.stats.CheckpointTime)()
	if err := cp.writer.Close(cp.opt.DrainTimeout); err != nil {
		return err
	}
	f := cp.flight.Load()
	if f == nil {
		return nil
	}
	ctx := context.Background()
	if cp.comm.Size() == 1 {
		failed, err := cp.join(ctx)
		return errors.Join(failed, err)
	}
	cp.flight.Store(nil)
	if err := cp.await(ctx, f); err != nil {
		return err
	}
	if f.err != nil {
		cp.distrust(f.err)
		cp.stats.VersionsFailed++
		return &AsyncError{Version: f.header.Version, Iteration: f.header.Iteration, Err: f.err}
	}
	cp.stats.VersionsWritten++
	cp.stats.BytesWritten += f.done.FileBytes
	cp.stats.Phases.add(f.phases)
	if !cp.place.OnNodes() && cp.root() && cp.allParts(ctx, f.header) == nil {
		cp.published(ctx, f.header, 0)
	}
	return nil
}

// Progress tells how far an asynchronous write is.
type Progress struct {
	Writing   bool
	Version   uint64
	Iteration int64 // or container.NoIteration (math.MinInt64)
	Bytes     int64 // written so far by this rank, after compression
	// Expected is the size of the values in bytes, without those that cannot
	// tell theirs.
	Expected int64
}

// Progress tells how far the write is that goes on in the background, or the
// last one before it is waited for; Writing is false if there is none. It may be
// called by any goroutine at any time.
func (cp *Checkpoint) Progress() Progress {
	f := cp.flight.Load()
	if f == nil {
		return Progress{}
	}
	p := Progress{Version: f.header.Version, Iteration: f.header.Iteration, Bytes: cp.store.Progress(), Expected: f.expect}
	p.Writing = !f.landed()
	return p
}
