package placement

import (
	"context"
	"errors"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/internal/flush"
)

// flushing is the placement of the flusher.
type flushing struct {
	home     storage.Driver
	finder   *finder
	register *register
	commands *commands
	mayWrite func() error
	flushed  func(storage.ID) // Config.Flushed
}

var _ flush.Placement = (*flushing)(nil)

// Parts lists the parts that this rank hosts and that are not at home.
func (f *flushing) Parts(id storage.ID) []storage.Part {
	return query(f.register, func(v catalog.View) (own []storage.Part) {
		for _, part := range v.Entry(id).Parts {
			if f.register.hostOf(v, id, part) == f.commands.nodes.me && !v.AtHome(id, part) {
				own = append(own, part)
			}
		}
		return own
	})
}

func (f *flushing) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	return f.finder.openVerified(ctx, id, part)
}

func (f *flushing) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	w, err := f.home.Create(ctx, id, part)
	if err != nil {
		return nil, err
	}
	return flushed{w, f, ctx, id, part}, nil
}

// Flushed tells rank 0.
func (f *flushing) Flushed(ctx context.Context, id storage.ID) error {
	return f.commands.report(ctx, verbFlushed, id)
}

// allFlushed is called on rank 0 when all ranks have flushed their parts.
func (f *flushing) allFlushed(id storage.ID) {
	f.register.tell(func() {
		size := f.register.cat.Size(id)
		for rank := range size {
			f.register.cat.AddPart(id, storage.Part{Rank: rank, Size: size}, catalog.Home)
		}
	})
	if f.flushed != nil {
		f.flushed(id)
	}
}

// flushed is a part on its way home.
type flushed struct {
	storage.PartWriter

	by   *flushing
	ctx  context.Context
	id   storage.ID
	part storage.Part
}

// Commit publishes the part, if this job may still write, and makes sure that rank 0 finds it.
func (w flushed) Commit() error {
	if err := w.by.mayWrite(); err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := w.PartWriter.Commit(); err != nil {
		return err
	}
	if err := w.by.commands.seenAtHome(w.ctx, w.id, w.part); err != nil {
		return err
	}
	w.by.register.cameHome(w.id, w.part)
	return nil
}
