package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/craft-go/craft/storage/container"
)

// ErrNoSection is matched by the error of a value that a part should have and has not.
var ErrNoSection = errors.New("it is not in the part")

// Snapshot is a version that is read: by a restart, and by programs that look at it. Its
// parts are opened when they are needed, by Open, wherever they are. All but Keep and Close
// may be called concurrently.
type Snapshot struct {
	Ranks int // that have written it
	Open  func(ctx context.Context, part Part) (*File, error)

	kept map[int]*File
}

// Keep opens the part of a rank, and keeps it open for those who use it until Close.
func (s *Snapshot) Keep(ctx context.Context, rank int) (*File, error) {
	f, _, err := s.part(ctx, rank)
	if err == nil {
		if s.kept == nil {
			s.kept = make(map[int]*File)
		}
		s.kept[rank] = f
	}
	return f, err
}

// Close closes what is kept.
func (s *Snapshot) Close() (err error) {
	for _, f := range s.kept {
		err = errors.Join(err, f.Close())
	}
	s.kept = nil
	return err
}

// part opens the part of a rank; done ends its use.
func (s *Snapshot) part(ctx context.Context, rank int) (f *File, done func(), err error) {
	if f := s.kept[rank]; f != nil {
		return f, func() {}, nil
	}
	if rank < 0 || rank >= s.Ranks {
		return nil, nil, fmt.Errorf("there is no rank %d, it was written by ranks 0 to %d", rank, s.Ranks-1)
	}
	f, err = s.Open(ctx, Part{Rank: rank, Size: s.Ranks})
	return f, func() { _ = f.Close() }, err // nothing was written
}

// With opens the part of a rank for as long as use takes.
func (s *Snapshot) With(ctx context.Context, rank int, use func(*File) error) error {
	f, done, err := s.part(ctx, rank)
	if err != nil {
		return err
	}
	defer done()
	return use(f)
}

// WithSection opens a value of a rank as it is stored, for as long as use takes. One that is
// spread over the parts is put together from all of them.
func (s *Snapshot) WithSection(ctx context.Context, rank int, key string, use func(*container.SectionReader) error) error {
	var opened []func()
	defer func() {
		for _, done := range opened {
			done()
		}
	}()
	open := func(rank int) (*container.SectionReader, error) {
		f, done, err := s.part(ctx, rank)
		if err != nil {
			return nil, err
		}
		opened = append(opened, done)
		section, ok := f.Section(key)
		if !ok {
			return nil, fmt.Errorf("%w of rank %d", ErrNoSection, rank)
		}
		return section, nil
	}
	own, err := open(rank)
	if err != nil {
		return err
	}
	info := own.Info()
	if !info.Split {
		return use(own)
	}
	parts := make([]*container.SectionReader, min(s.Ranks, info.Chunks))
	for r := range parts {
		if parts[r] = own; r != rank {
			if parts[r], err = open(r); err != nil {
				return err
			}
		}
	}
	joined, err := container.Join(parts)
	if err != nil {
		return err
	}
	return use(joined)
}
