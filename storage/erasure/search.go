package erasure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/craft-go/craft/storage"
)

// search looks for the set that a lost part is rebuilt from. There may be several:
// where redundancy was made anew for other nodes, and that was cut off, some ranks
// have parity of the sets of before, others of those of after.
type search struct {
	survivors // of no set yet

	asked   map[int]bool // ranks
	distant map[int]bool // ranks of sets that the lost part is not in
	tried   []*ParityReader
	best    *survivors
	reasons []error // why files cannot be used
}

// findSurvivors opens what is needed to rebuild a part: of the first set that
// suffices, else of the one that lacks least. Whatever is wrong with a file makes
// it one more that is missing: whether that is too much shows later.
func findSurvivors(ctx context.Context, id storage.ID, lost storage.Part, open Open) (*survivors, error) {
	f := &search{
		survivors: survivors{open: open, id: id, lost: lost},
		asked:     map[int]bool{lost.Rank: true}, // its own parity never covers its part
		distant:   make(map[int]bool),
	}
	// Few of a job's ranks are in the set: distant ones are asked only if the
	// others are not enough.
	for _, distant := range []bool{false, true} {
		for rank := range lost.Size {
			if f.asked[rank] || f.distant[rank] && !distant {
				continue
			}
			f.asked[rank] = true
			if err := f.ask(ctx, rank); err != nil {
				return nil, errors.Join(err, f.best.close())
			}
			if f.best != nil && f.best.lacks() <= 0 {
				return f.best, nil
			}
		}
	}
	if f.best == nil {
		return nil, f.fail(fmt.Errorf("no parity file of its set is left: %w", storage.JoinPlaces(append(f.reasons, storage.ErrNotFound)...)))
	}
	f.best.reasons = append(f.best.reasons, f.reasons...)
	return f.best, nil
}

// ask looks at the parity file of a rank. If it is of a set with the lost part that
// was not tried yet, the better one of that and the best so far is kept.
func (f *search) ask(ctx context.Context, rank int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, file, err := f.openParity(ctx, rank)
	if err != nil {
		if !errors.Is(err, storage.ErrNotFound) || errors.Is(err, ErrMismatch) {
			f.reasons = append(f.reasons, err)
		}
		return nil
	}
	_, ranks, _, err := SetOf(p.header)
	member := slices.Index(ranks, f.lost.Rank)
	if member < 0 {
		for _, r := range ranks {
			f.distant[r] = true
		}
	}
	if member < 0 || slices.ContainsFunc(f.tried, func(other *ParityReader) bool { return sameParts(p, other) }) {
		f.reasons = append(f.reasons, err, file.Close())
		return nil
	}
	f.tried = append(f.tried, p)
	s := f.survivors
	s.ranks, s.member, s.files = ranks, member, []io.Closer{file}
	if s.code, err = NewCode(p.header.Layout); err == nil {
		err = s.openAll(ctx, p)
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	worse := &s
	if f.best == nil || s.lacks() < f.best.lacks() {
		worse, f.best = f.best, &s
	}
	f.reasons = append(f.reasons, worse.close())
	return nil
}
