package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/craft-go/craft/aft/comm"
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
	checks []check       // with CRAFT_ASYNC_CHECK
	phases Phases
	// captured is what went wrong before everything was copied.
	captured error

	// Set by the write, read when the ticket is done.
	done part
	err  error
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
	spans   [][]byte // its own memory, if it is written from there
}

// write encodes, stores and publishes this rank's part.
func (f *flight) write(ctx context.Context, cp *Checkpoint) {
	defer cp.stats.time(&f.phases.Write)()
	f.done.sections = cp.sections
	if f.err = cp.mayWrite(); f.err != nil {
		cp.forgo(f.header)
		return
	}
	id, _ := storage.Identity(f.header)
	cp.reserve(ctx, id)
	f.done.Written, f.err = cp.store.Write(ctx, f.header, cp.sections, func(w storage.Written) error {
		if err := f.unchanged(cp, w); err != nil {
			return err
		}
		return comm.Lease(cp.comm) // the others may have gone on without this rank meanwhile
	})
	f.err = disagreed(f.err)
	if f.err != nil && ctx.Err() != nil && !errors.Is(f.err, context.Cause(ctx)) {
		f.err = fmt.Errorf("%w (%w)", f.err, context.Cause(ctx))
	}
}

// mayWrite returns an error if others may write here now.
func (cp *Checkpoint) mayWrite() error {
	if cp.attempt.lock != nil {
		if err := cp.attempt.lock.Check(); err != nil {
			return err
		}
	}
	return comm.Lease(cp.comm)
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
			return &KeyError{Key: cp.sections[c.section].Key, Err: fmt.Errorf("%w: in mode %v, before Wait had returned; the version is not stored", ErrChanged, cp.opt.mode())}
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
	if f.captured = cp.update(f); f.captured == nil {
		f.captured = cp.capture(ctx, f)
	}
	if f.ticket == nil {
		cp.forgo(h) // the copying failed before there was a writer
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
	cp.describeAll()
	copies := int64(0)
	for i := range cp.sections {
		s, size := &cp.sections[i], sizeOf(cp.entries[i].value)
		f.expect += size
		if s.Source == nil && cp.opt.AsyncCheck {
			f.checks = append(f.checks, check{section: i, digest: container.Digest(s.Spans, cp.store.ChunkSize())})
		}
		if s.Source == nil && cp.opt.mode() == zeroCopy && size >= cp.opt.zeroCopyFrom {
			if cp.opt.AsyncCheck {
				f.checks[len(f.checks)-1].spans = s.Spans
			}
			continue
		}
		s.Spans, s.Source, s.Feed = nil, nil, cp.staging
		copies += size
	}
	if err := cp.staging.Begin(copies); err != nil {
		return err
	}
	if err := cp.choresDone(ctx); err != nil {
		return err
	}
	f.ticket, err = cp.writer.Start(func(ctx context.Context) error {
		defer cp.staging.Abandon()
		cp.doChores(ctx) // before: it makes room
		f.write(ctx, cp)
		return f.err
	})
	if err != nil {
		return err
	}
	cp.flight.Store(f)                                                  // whatever happens now, it must be waited for
	err = errors.New("a value's own code panicked while it was copied") // unless it does not
	defer func() { cp.staging.Seal(err) }()
	for i := range cp.sections {
		if cp.sections[i].Feed == nil {
			continue
		}
		if err = cp.stage(ctx, cp.entries[i].value); err != nil {
			return &KeyError{Key: cp.entries[i].key, Err: err}
		}
	}
	return nil
}

func (cp *Checkpoint) stage(ctx context.Context, v cptypes.Value) error {
	if spans, ok := spansOf(v); ok {
		return cp.staging.Copy(ctx, spans)
	}
	return cp.staging.CopyFrom(ctx, v)
}

// startChores does what is left to do by itself, when no version follows soon.
func (cp *Checkpoint) startChores() {
	if cp.writer == nil || cp.flight.Load() != nil { // a version does them
		return
	}
	if cp.choring != nil {
		select {
		case <-cp.choring.Done():
		default:
			return
		}
	}
	if cp.choring = nil; !cp.chores.any() {
		return
	}
	ticket, err := cp.writer.Start(func(ctx context.Context) error {
		cp.doChores(ctx)
		return nil
	})
	if err == nil { // otherwise the next version, or Close, does them
		cp.choring = ticket
	}
}

// choresDone waits for chores that are being done by themselves.
func (cp *Checkpoint) choresDone(ctx context.Context) error {
	if cp.choring == nil {
		return nil
	}
	err := cp.choring.Wait(ctx)
	select {
	case <-cp.choring.Done():
		cp.choring = nil
		return nil
	default:
		return err
	}
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
		select {
		case <-f.ticket.Done():
			// Not what Wait has returned: ctx may have ended just before the write.
			f.err = f.ticket.Err()
		default:
			return err
		}
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
	if !cp.opt.Enable {
		return nil
	}
	if err := cp.ready("Wait"); err != nil {
		return err
	}
	if cp.flight.Load() == nil {
		return nil
	}
	defer cp.stats.time(&cp.stats.CheckpointTime)()
	failed, err := cp.join(ctx)
	cp.startChores()
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
		cp.stats.VersionsFailed++
		return &AsyncError{Version: f.header.Version, Iteration: f.header.Iteration, Err: f.err}
	}
	cp.stats.VersionsWritten++
	cp.stats.BytesWritten += f.done.FileBytes
	cp.stats.Phases.add(f.phases)
	cp.stats.WriterCPU = cp.threads.Used()
	if cp.stack == nil && cp.root() && cp.allParts(ctx, f.header) == nil {
		cp.published(ctx, f.header, storage.Captured)
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
	if f.ticket != nil {
		select {
		case <-f.ticket.Done():
		default:
			p.Writing = true
		}
	}
	return p
}
