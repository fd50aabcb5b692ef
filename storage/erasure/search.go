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
			for more := true; more; { // a rank may have parity of several sets, on several nodes
				var err error
				if more, err = f.look(ctx, rank); err != nil {
					return nil, errors.Join(err, f.best.close())
				}
				if f.best != nil && f.best.rebuild.lacks() <= 0 {
					return f.best, nil
				}
			}
		}
	}
	if f.best == nil {
		return nil, f.fail(fmt.Errorf("no parity file of its set is left: %w", storage.JoinPlaces(append(f.reasons, storage.ErrNotFound)...)))
	}
	f.best.reasons = append(f.best.reasons, f.reasons...)
	return f.best, nil
}

// errUnwanted is about parity of a set that the lost part is not in, or that was tried.
var errUnwanted = fmt.Errorf("%w: parity of a set that was not tried yet", storage.ErrNotFound)

// untried returns an error unless a parity file is of a set with the lost part that was not
// tried yet.
func (f *search) untried(p *ParityReader, ranks []int) error {
	if !slices.Contains(ranks, f.lost.Rank) {
		for _, r := range ranks {
			f.distant[r] = true
		}
		return errUnwanted
	}
	if slices.ContainsFunc(f.tried, func(other *ParityReader) bool { return sameParts(p, other) }) {
		return errUnwanted
	}
	return nil
}

// look looks at the parity of a rank. If it is of a set with the lost part that was not tried
// yet, which it reports, the better one of that and the best so far is kept.
func (f *search) look(ctx context.Context, rank int) (more bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	s := f.survivors
	p, file, err := f.openParity(ctx, rank, func(p *ParityReader, ranks []int) error {
		s.ranks = ranks
		return f.untried(p, ranks)
	})
	if err != nil {
		if !errors.Is(err, storage.ErrNotFound) || errors.Is(err, ErrMismatch) {
			f.reasons = append(f.reasons, err)
		}
		return false, nil
	}
	f.tried, s.files = append(f.tried, p), []io.Closer{file}
	if err = s.openAll(ctx, p); err != nil {
		return false, errors.Join(err, s.close())
	}
	worse := &s
	if f.best == nil || s.rebuild.lacks() < f.best.rebuild.lacks() {
		worse, f.best = f.best, &s
	}
	f.reasons = append(f.reasons, worse.close())
	return true, nil
}
