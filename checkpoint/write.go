package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// smallReplicated is the size in bytes up to which a replicated value is in
// every rank's file. Larger ones are spread over the files by chunks.
const smallReplicated = 64 << 10

// UpdateAndWrite writes a version if iter % freq == 0 and does nothing
// otherwise. When it returns nil after writing, the version is complete and
// durable on all ranks. When it returns an error no rank has the version, the
// earlier ones are as they were, and the program may go on and call it again.
// Only after an error of the communicator may the version be complete or not.
func (cp *Checkpoint) UpdateAndWrite(ctx context.Context, iter, freq int) error {
	if !cp.opt.Enable {
		return nil
	}
	if freq < 1 {
		return fmt.Errorf("checkpoint %q: %w: frequency %d, it must be at least 1", cp.name, ErrArgument, freq)
	}
	if err := cp.ready("UpdateAndWrite"); err != nil {
		return err
	}
	if iter%freq != 0 {
		return nil
	}
	return cp.write(ctx, int64(iter))
}

// Write writes a version now, without an iteration: a restart leaves the
// iteration of the program as it is. It is for programs that add their own
// position. A loop that counts iterations and wants to save now (on a signal,
// say) calls UpdateAndWrite(ctx, iter, 1). See there.
func (cp *Checkpoint) Write(ctx context.Context) error {
	if !cp.opt.Enable {
		return nil
	}
	if err := cp.ready("Write"); err != nil {
		return err
	}
	return cp.write(ctx, container.NoIteration)
}

func (cp *Checkpoint) write(ctx context.Context, iteration int64) error {
	timer := cp.stats.time(&cp.stats.CheckpointTime)
	defer timer()
	if cp.restartErr != nil {
		return fmt.Errorf("checkpoint %q: %w: nothing is written after a failed RestartIfNeeded, call it again: %w", cp.name, ErrState, cp.restartErr)
	}
	if !cp.attempt.begun {
		if _, err := cp.begin(ctx, false); err != nil {
			return fmt.Errorf("first write of checkpoint %q: %w", cp.name, err)
		}
	}
	cp.attempt.last++ // consumed, also if the write fails
	h := cp.header(iteration)
	done, err := cp.writePart(ctx, h)
	if err = cp.settle(ctx, h, done, err); err != nil {
		return fmt.Errorf("write checkpoint %q: %w", cp.name, errVersion(storage.ID{Version: h.Version}, err))
	}
	cp.stats.VersionsWritten++
	cp.stats.BytesWritten += done.FileBytes
	if cp.root() {
		cp.published(ctx, h)
	}
	return nil
}

func (cp *Checkpoint) header(iteration int64) container.Header {
	return container.Header{
		Name: cp.name, Lineage: cp.attempt.lineage, Attempt: cp.attempt.id,
		Version: cp.attempt.last, Iteration: iteration,
		Rank: int(cp.comm.Rank()), Size: cp.comm.Size(),
		Created: time.Now(), Fingerprint: cp.fingerprint,
	}
}

// part is what this rank knows of the version that it has written.
type part struct {
	storage.Written
	sections []container.Section
}

func (cp *Checkpoint) writePart(ctx context.Context, h container.Header) (part, error) {
	if cp.attempt.lock != nil {
		if err := cp.attempt.lock.Check(); err != nil {
			return part{}, err
		}
	}
	sections, err := cp.capture()
	if err != nil {
		return part{}, err
	}
	written, err := cp.store.Write(ctx, h, sections, nil)
	return part{Written: written, sections: sections}, err
}

// capture describes the present state of all values.
func (cp *Checkpoint) capture() ([]container.Section, error) {
	if cp.sections == nil {
		cp.sections = make([]container.Section, len(cp.entries))
	}
	// All are updated before any is looked at: the Update of one may change
	// another.
	for _, e := range cp.entries {
		if u, ok := e.value.(cptypes.Updater); ok {
			if err := u.Update(); err != nil {
				return nil, &KeyError{Key: e.key, Err: err}
			}
		}
	}
	for i := range cp.entries {
		cp.describe(&cp.entries[i], &cp.sections[i])
	}
	return cp.sections, nil
}

// describe fills the section of one value, which is reused from version to
// version.
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

// settle ends a write on all ranks together: they agree whether the version is
// complete and whether they mean the same by it. If not, nothing of it stays.
func (cp *Checkpoint) settle(ctx context.Context, h container.Header, p part, mine error) error {
	_, err := cp.agree(ctx, mine)
	if err == nil {
		err = cp.checkTogether(ctx, h, p)
	}
	if err == nil && !cp.attempt.samePlace {
		err = cp.checkPlace(ctx, h)
	}
	if err == nil {
		return nil
	}
	if cp.root() && (mine != nil || reported(err)) {
		id, _ := storage.Identity(h)
		if rm := cp.store.Remove(context.WithoutCancel(ctx), id); rm != nil {
			cp.log.Warn("failed version not deleted", "version", h.Version, "error", rm)
		}
	}
	return err
}

// reported tells that the ranks found out together that the version is not
// good, in contrast to a communicator that failed: then it may be complete, and
// a restart may use it.
func reported(err error) bool {
	var remote *RankError
	return errors.As(err, &remote) || errors.Is(err, ErrDisagree)
}
