package erasure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/storage"
)

// Open gives the parts (storage.KindPart, wherever their bytes are) and parity
// files of a version; storage.ErrNotFound where there is none. It is called
// concurrently. The readers live as long as the context it was called with. A parity file
// that is a storage.Redundant is in other places, too, where it may be of other sets.
type Open = func(ctx context.Context, key storage.ObjectKey) (storage.PartReader, error)

// openAtOnce bounds how many files of a set are being opened at the same time.
const openAtOnce = 8

// survivors are what is left of a set when one member has lost its part.
type survivors struct {
	open    Open
	id      storage.ID
	lost    storage.Part
	ranks   []int
	files   []io.Closer
	reasons []error // why files are no sources; those of members by member
	rebuild *rebuild
}

// openParity opens the first parity file of a rank that is of this version and wanted: where
// ranks have moved, their old nodes have those of the sets of before under the same name.
func (s *survivors) openParity(ctx context.Context, rank int, wanted func(p *ParityReader, ranks []int) error) (*ParityReader, io.Closer, error) {
	key := storage.ObjectKey{ID: s.id, Kind: storage.KindParity, Part: storage.Part{Rank: rank, Size: s.lost.Size}}
	file, err := s.open(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	var reasons []error
	others, _ := file.(storage.Redundant)
	for at := file; at != nil; {
		p, err := OpenParity(at, at.Size())
		var ranks []int
		if err == nil {
			ranks, err = s.setOf(p.header, rank)
		}
		if err == nil {
			err = wanted(p, ranks)
		}
		if err == nil {
			return p, file, nil
		}
		reasons = append(reasons, fmt.Errorf("%v: %w", key, err))
		at = nil
		if others != nil {
			if at, err = others.Another(); err != nil {
				reasons = append(reasons, err)
			}
		}
	}
	return nil, nil, errors.Join(storage.JoinPlaces(reasons...), file.Close())
}

// another is the error of a parity file in whose place there is one of another set or
// version.
func another(err error) error {
	return fmt.Errorf("%w, another one is there: %w", storage.ErrNotFound, err)
}

// setOf returns the ranks of the set of a parity file, if it is what its name says.
func (s *survivors) setOf(h Header, rank int) ([]int, error) {
	id, ranks, size, err := SetOf(h)
	if err == nil && (id != s.id || size != s.lost.Size || ranks[h.Member] != rank) {
		err = fmt.Errorf("it says that it is of rank %d of %d and %v: %w", ranks[h.Member], size, id, ErrMismatch)
	}
	if err != nil {
		err = another(err)
	}
	return ranks, err
}

// openAll opens the parts and parity files of all members but the lost one,
// whose own parity never covers its part.
func (s *survivors) openAll(ctx context.Context, first *ParityReader) error {
	code, err := NewCode(first.header.Layout)
	if err != nil {
		return err
	}
	n := len(s.ranks)
	sources, lost := make([]source, n), slices.Index(s.ranks, s.lost.Rank)
	sources[first.header.Member].parity = first
	s.reasons = make([]error, n)
	var mu sync.Mutex
	keep := func(f io.Closer) {
		mu.Lock()
		defer mu.Unlock()
		s.files = append(s.files, f)
	}
	var g errgroup.Group
	g.SetLimit(openAtOnce)
	for member := range s.ranks {
		if member == lost {
			continue
		}
		g.Go(func() error {
			part, partErr := s.openPart(ctx, member, first)
			if partErr == nil {
				sources[member].part = part
				keep(part)
			}
			if sources[member].parity != nil {
				s.reasons[member] = partErr
				return nil
			}
			p, file, err := s.openParity(ctx, s.ranks[member], func(p *ParityReader, _ []int) error {
				if !sameParts(p, first) {
					return another(fmt.Errorf("parity of rank %d is of another set or of other parts: %w", s.ranks[member], ErrMismatch))
				}
				return nil
			})
			if err == nil {
				sources[member].parity = p
				keep(file)
			}
			s.reasons[member] = storage.JoinPlaces(partErr, err)
			return nil
		})
	}
	_ = g.Wait() // reasons are kept by member
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.rebuild = newRebuild(code, first, sources, lost)
	return nil
}

func (s *survivors) openPart(ctx context.Context, member int, first *ParityReader) (storage.PartReader, error) {
	key := storage.ObjectKey{ID: s.id, Kind: storage.KindPart, Part: storage.Part{Rank: s.ranks[member], Size: s.lost.Size}}
	part, err := s.open(ctx, key)
	if err != nil {
		return nil, err
	}
	if want := first.parts.Sizes[member]; part.Size() != want {
		err = fmt.Errorf("%v has %d bytes, it was written with %d: %w", key, part.Size(), want, ErrDamaged)
		return nil, errors.Join(err, part.Close())
	}
	return part, nil
}

func sameParts(a, b *ParityReader) bool {
	return a.header.Layout == b.header.Layout && bytes.Equal(a.header.Identity, b.header.Identity) &&
		slices.Equal(a.parts.Sizes, b.parts.Sizes) && slices.Equal(a.parts.Digests, b.parts.Digests)
}

// explain adds to an error why files that would have helped were not there.
func (s *survivors) explain(err error) error {
	var loss *LossError
	if errors.As(err, &loss) {
		whole := *loss
		whole.Err = storage.JoinPlaces(append([]error{loss.Err}, s.reasons...)...)
		err = &whole
	}
	return s.fail(err)
}

func (s *survivors) fail(err error) error {
	return &storage.PartError{Op: "rebuild", ID: s.id, Part: s.lost, Err: err}
}

func (s *survivors) close() error {
	if s == nil {
		return nil
	}
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
