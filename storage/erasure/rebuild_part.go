package erasure

import (
	"context"
	"errors"
	"io"

	"github.com/craft-go/craft/storage"
)

// RebuildPart writes the bytes of a lost part to w, made from what open finds of
// the other members of its set. What has been written is the part, as its size
// and checksum say, only if the error is nil. Otherwise it is a
// *storage.PartError: it matches ErrTooManyLost if not enough is left,
// storage.ErrNotFound or ErrDamaged if what would have been needed is not there or has
// wrong bytes, and neither if any of that cannot be read now.
func RebuildPart(ctx context.Context, id storage.ID, part storage.Part, open Open, w io.Writer) error {
	s, err := findSurvivors(ctx, id, part, open)
	if err != nil {
		return err
	}
	err = s.code.Rebuild(ctx, s.sources, s.member, w)
	if err = errors.Join(err, s.close()); err != nil {
		return s.explain(err)
	}
	return nil
}
