package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/offline"
)

// Snapshot is an open version. Its methods may be called concurrently. What they return is
// what the ranks had when the version was written, and every byte of it is verified.
type Snapshot struct {
	in      files
	is      offline.Version
	parts   *storage.Snapshot
	version Version
	first   container.Header
	keys    keySet // of that part
}

// Key is a value that a version holds.
type Key struct {
	Name string
	// Desc describes it as the first rank that has it: element type, shape, distribution. Of
	// a partitioned value Desc.Global is the shape of the whole array.
	Desc cptypes.Desc
}

func (f files) snapshot(ctx context.Context, is offline.Version) (*Snapshot, error) {
	s := &Snapshot{in: f, is: is, parts: f.Checkpoint.Snapshot(&is), version: f.describe(is)}
	s.keys.at = make(map[string]int)
	if err := s.index(ctx); err != nil {
		return nil, s.failed(err)
	}
	return s, nil
}

// index reads which keys there are out of the first part that can be read.
func (s *Snapshot) index(ctx context.Context) error {
	var bad []error
	for _, part := range s.is.Parts {
		err := s.parts.With(ctx, part.Rank, func(f *storage.File) error {
			s.first = f.Header()
			return s.keys.add(f)
		})
		if err == nil {
			return nil
		}
		if bad = append(bad, err); ctx.Err() != nil {
			break
		}
	}
	if len(bad) == 0 && s.is.Elsewhere {
		return fmt.Errorf("nothing of it is here: %w", ErrElsewhere)
	} else if len(bad) == 0 {
		return fmt.Errorf("nothing of it is here: %s", s.version.Why)
	}
	return storage.JoinPlaces(bad...)
}

// Version says which one it is.
func (s *Snapshot) Version() Version { return s.version }

// keySet are values, each named once.
type keySet struct {
	list []Key
	at   map[string]int
}

func (k *keySet) add(f *storage.File) error {
	for _, info := range f.Sections() {
		if _, known := k.at[info.Key]; !known {
			k.at[info.Key] = len(k.list)
			k.list = append(k.list, Key{Name: info.Key, Desc: info.Desc})
		}
	}
	return nil
}

// Keys are the values that it holds, on whichever ranks: the index of each part is read. The
// error says which parts cannot be read, so that there may be more; the keys of the others are
// returned with it.
func (s *Snapshot) Keys(ctx context.Context) ([]Key, error) {
	keys, err := s.allKeys(ctx)
	return keys.list, s.failed(err)
}

func (s *Snapshot) allKeys(ctx context.Context) (keySet, error) {
	keys := keySet{slices.Clone(s.keys.list), maps.Clone(s.keys.at)}
	var bad []error
	for rank := range s.is.Size() {
		if rank == s.first.Rank {
			continue
		}
		err := s.parts.With(ctx, rank, keys.add)
		if bad = append(bad, err); ctx.Err() != nil {
			break
		}
	}
	return keys, errors.Join(bad...)
}

// Fingerprint is that of the program's problem, canonical JSON; nil: none was given.
func (s *Snapshot) Fingerprint() []byte { return slices.Clone(s.first.Fingerprint) }

// failed adds which version an error is about, and that it was deleted if it was.
func (s *Snapshot) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case len(s.is.Parts) > 0 && !s.in.Exists(s.is.ID):
		err = fmt.Errorf("%w (%w)", ErrDeleted, err)
	case errors.Is(err, ErrElsewhere):
		err = fmt.Errorf("%w: %s", err, s.in.elsewhere())
	}
	return s.in.failed(fmt.Errorf("version %v: %w", s.is.ID, err))
}

// with opens a value of a rank as it is stored, for as long as use takes.
func (s *Snapshot) with(ctx context.Context, key string, rank int, use func(*container.SectionReader) error) error {
	err := s.parts.WithSection(ctx, rank, key, use)
	switch {
	case errors.Is(err, storage.ErrNoSection):
		err = fmt.Errorf("%w %q: %w", ErrKey, key, err)
	case err != nil:
		err = fmt.Errorf("key %q of rank %d: %w", key, rank, err)
	}
	return s.failed(err)
}

// Read reads the value that a rank has stored into a Go value: what that rank's program has
// added, a pointer to a value of that type, or of one that fits. Of a partitioned value it is
// the rank's box, into a value of its shape, a slice, or a partitioned value with that box.
func (s *Snapshot) Read(ctx context.Context, key string, rank int, into any) error {
	return s.with(ctx, key, rank, func(section *container.SectionReader) error { return read(ctx, section, into) })
}

func read(ctx context.Context, section *container.SectionReader, into any) error {
	v, err := cptypes.Of(into)
	if err != nil {
		return err
	}
	stored := section.Info().Desc
	mine := cptypes.DescOf(v)
	if mine.Dist == container.Partitioned && stored.Dist == mine.Dist && !sameBox(mine, stored) {
		// The bytes would fit where the sizes are the same, and be those of other elements.
		return fmt.Errorf("%w: the rank has %v of an array of shape %v, the value is %v of one of shape %v: give it that box, or read any box with Box",
			ErrShape, stored.Box, stored.Global, mine.Box, mine.Global)
	}
	if mine.Dist != stored.Dist { // here it is the value of one rank
		stored.Dist, stored.Global, stored.Box = container.Local, nil, container.Box{}
	}
	if err := cptypes.MakeRoom(v, stored); err != nil {
		n, ok := stored.Elems()
		flat := stored
		flat.Shape = []int64{n}
		if !ok || len(stored.Shape) < 2 || cptypes.MakeRoom(v, flat) != nil {
			return err
		}
	}
	return cptypes.ReadSection(ctx, v, section)
}

func sameBox(a, b cptypes.Desc) bool {
	return slices.Equal(a.Box.Lo, b.Box.Lo) && slices.Equal(a.Box.Hi, b.Box.Hi) && slices.Equal(a.Global, b.Global)
}

// Stream writes the bytes of a value that a rank has stored: of numbers little-endian ones,
// one after the other in row-major order, of other types what its WriteTo has written.
func (s *Snapshot) Stream(ctx context.Context, key string, rank int, w io.Writer) error {
	return s.with(ctx, key, rank, func(section *container.SectionReader) error {
		_, err := io.Copy(w, section.NewReader(ctx))
		return err
	})
}
