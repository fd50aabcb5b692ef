package placement

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/internal/heal"
	"github.com/craft-go/craft/storage/internal/memory"
	"github.com/craft-go/craft/storage/nodelocal"
)

// healing is the placement of the healer.
type healing struct {
	local    *nodelocal.Store
	finder   *finder
	register *register
	schemes  schemes
	commands *commands
	deleted  func(storage.ID) bool // on rank 0
	work     context.Context
}

var _ heal.Placement = (*healing)(nil)

// Bring reads the file that there is, and gets the part from elsewhere if it is not good. Of a
// version in memory alone there is none, and none of this rank's of one of another number of ranks.
func (h *healing) Bring(ctx context.Context, id storage.ID) error {
	key := h.register.ownKey(id)
	if h.register.isResized(id) || !h.register.isInFiles(id, h.schemes) {
		return nil
	}
	if r, err := h.local.OpenObject(ctx, key); err == nil {
		defer r.Close()
		if h.finder.verify(ctx, r, id, key.Part) == nil {
			h.register.noteOwn(id)
			return nil
		}
	}
	src, err := h.finder.openVerified(ctx, id, key.Part)
	if err != nil {
		return err
	}
	defer src.Close()
	w, err := h.local.CreateObject(ctx, key)
	if err == nil {
		err = copyWhole(ctx, w, src)
	}
	if err == nil {
		h.register.noteOwn(id)
	}
	return err
}

// Protect gives the scheme of a level the bytes that are on this node.
func (h *healing) Protect(ctx context.Context, id storage.ID, level storage.Level) error {
	switch {
	case level.Tier == storage.TierMemory && h.register.isResized(id):
		return h.spread(ctx, id, level)
	case level.Tier == storage.TierMemory:
		return h.remember(ctx, id, level)
	}
	key := h.register.ownKey(id)
	src, err := h.local.OpenObject(ctx, key)
	if err != nil {
		return errors.Join(err, h.Skip(id, level))
	}
	defer src.Close()
	w, err := h.schemes[level].scheme.Create(ctx, id, key.Part)
	if err == nil {
		err = copyWhole(ctx, w, src)
	}
	if err == nil && h.schemes[level].partners != nil {
		h.register.note(id, func(about *note) { about.tornCopy = false })
	}
	return err
}

// remember gives the part to all who are to have it in memory, from wherever it is.
func (h *healing) remember(ctx context.Context, id storage.ID, level storage.Level) error {
	part := h.register.ownKey(id).Part
	err := h.copyPart(ctx, id, part, func() (storage.PartWriter, error) { return h.schemes[level].scheme.Create(ctx, id, part) })
	if err == nil {
		h.register.note(id, func(about *note) { about.tornMemory = false })
	}
	return err
}

// spread gives parts of ranks that are no more to others, from the memory that they are in.
func (h *healing) spread(ctx context.Context, id storage.ID, level storage.Level) (err error) {
	scheme, ok := h.schemes[level].scheme.(*memory.Scheme)
	if !ok {
		return fmt.Errorf("%w: level %v", errors.ErrUnsupported, level)
	}
	for part, to := range h.register.toGive(id, h.schemes[level]) {
		for _, rank := range to {
			err = errors.Join(err, h.copyPart(ctx, id, part, func() (storage.PartWriter, error) { return scheme.CreateCopy(ctx, id, part, comm.Rank(rank)) }))
		}
	}
	return err
}

// copyPart copies a part to what create makes, from wherever it is.
func (h *healing) copyPart(ctx context.Context, id storage.ID, part storage.Part, create func() (storage.PartWriter, error)) error {
	src, err := h.finder.openVerified(ctx, id, part)
	if err != nil {
		return err
	}
	defer src.Close()
	w, err := create()
	if err == nil {
		err = copyWhole(ctx, w, src)
	}
	if errors.Is(err, storage.ErrCalledOff) { // another rank knows of a newer version already
		h.register.note(id, func(about *note) { about.overtaken = true })
	}
	return err
}

func (h *healing) Skip(id storage.ID, level storage.Level) error {
	return h.schemes[level].scheme.Skip(h.work, id, h.register.ownKey(id).Part)
}

// Healed tells rank 0.
func (h *healing) Healed(ctx context.Context, id storage.ID) error {
	return h.commands.report(ctx, verbHealed, id)
}

// Deleted asks rank 0: others may have been told before this rank, and have given up.
func (h *healing) Deleted(id storage.ID) bool {
	if h.register.isOvertaken(id) {
		return true
	}
	if h.commands.nodes.root() {
		return h.deleted(id)
	}
	return errors.Is(h.commands.give(h.work, 0, verbKept, id.String()), storage.ErrNotFound)
}

// allHealed is called on rank 0 when all ranks have healed a version.
func (h *healing) allHealed(id storage.ID) {
	plan, by := h.register.protectors(id, h.schemes)
	levels := plan.And(h.schemes.allPossible(by))
	h.register.note(id, func(about *note) { about.healed = levels })
}

// copyPiece is how many bytes are copied at once: a transfer of a few pages costs
// more than the pages.
const copyPiece = 1 << 20

// copyWhole copies a part and publishes it, unless ctx has ended: what is published
// after its version is deleted stays.
func copyWhole(ctx context.Context, w storage.PartWriter, src storage.PartReader) error {
	err := copyBytes(w, src, src.Size())
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit()
}

// copyBytes copies as many bytes as there are said to be. A file that was cut since it was
// opened just ends, which io.Copy takes for the end of the part.
func copyBytes(w io.Writer, src io.ReaderAt, size int64) error {
	buf := make([]byte, min(copyPiece, max(size, 1)))
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, io.NewSectionReader(src, 0, size), buf)
	if err == nil && n < size {
		err = fmt.Errorf("read %d of %d bytes: %w", n, size, io.ErrUnexpectedEOF)
	}
	return err
}
