package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync/atomic"

	"github.com/craft-go/craft/storage/container"
)

// Store reads and writes the versions of one checkpoint on one level. One
// Write at a time; everything else may be called concurrently.
type Store struct {
	Driver

	// Possible are the levels that the nodes allow instead of those that a header
	// names; nil: those.
	Possible func(Levels) Levels

	encoder  *container.Encoder
	delta    *container.Delta // nil: every version is full
	digests  []uint64
	inMemory uint64 // number of the last version that is in memory; 0: none
	progress atomic.Int64
}

// NewStore returns a store over driver that encodes as options say.
func NewStore(driver Driver, options container.Options) (*Store, error) {
	encoder, err := container.NewEncoder(options)
	if err != nil {
		return nil, err
	}
	return &Store{Driver: driver, encoder: encoder}, nil
}

// UseDelta makes the versions refer to earlier ones for chunks that have not
// changed. Settle has to be called after each Write.
func (s *Store) UseDelta() { s.delta = container.NewDelta() }

// Full makes the next version one that refers to no other.
func (s *Store) Full() {
	if s.delta != nil {
		s.delta.Reset()
	}
}

// Settle says what became of the last Write: whether its version stays, and the
// levels below the parallel file system that it has.
func (s *Store) Settle(version uint64, kept bool, reached Levels) {
	if kept && reached.On(TierMemory) != 0 {
		s.inMemory = version
	}
	switch {
	case s.delta == nil:
	case kept:
		s.delta.Keep(version, uint64(reached.Promises()))
	default:
		s.delta.Drop()
	}
}

// flushGrade is asked for by versions that are copied to the parallel file
// system, or are in memory: no version on the nodes alone will do.
const flushGrade = math.MaxUint64

// grade says what a version may refer to: only to those that cover its levels. One
// that goes from the nodes to the parallel file system is always full, and one in memory,
// which does without files.
func (s *Store) grade(h container.Header) uint64 {
	plan := Planned(h)
	if plan.BelowHome() != 0 && plan.AtHome() || plan.On(TierMemory) != 0 {
		return flushGrade
	}
	return uint64(s.possible(h).BelowHome().Promises())
}

// possible are the levels that the nodes allow instead of those of a version.
func (s *Store) possible(h container.Header) Levels {
	if s.Possible == nil {
		return Planned(h)
	}
	return s.Possible(Planned(h))
}

// ChunkSize is how many bytes the chunks of the store's files have.
func (s *Store) ChunkSize() int { return s.encoder.ChunkSize() }

// Progress returns how many bytes the present Write, or the last one, has
// written so far. It may be called at any time.
func (s *Store) Progress() int64 { return s.progress.Load() }

// Written says what a Write did.
type Written struct {
	container.Stats
	// Digests of the sections, in their order; valid until the next Write.
	Digests []uint64
}

// Write writes this rank's part of the version that h names and publishes it.
// Before that it asks mayPublish, if that is not nil, which gets what has been
// written and whose error makes the write fail. When it fails, nothing of the
// part remains visible.
func (s *Store) Write(ctx context.Context, h container.Header, sections []container.Section, mayPublish func(Written) error) (Written, error) {
	s.progress.Store(0)
	id, part := Identity(h)
	done, err := s.write(ctx, id, part, h, sections, mayPublish)
	if err != nil {
		return Written{}, s.failed("write", id, part, err)
	}
	return done, nil
}

func (s *Store) write(ctx context.Context, id ID, part Part, h container.Header, sections []container.Section, mayPublish func(Written) error) (done Written, err error) {
	w, err := s.Create(ctx, id, part)
	if err != nil {
		return done, err
	}
	encoded := false
	defer func() {
		if !encoded { // also when a value's own code panics
			err = errors.Join(err, w.Abort())
		}
	}()
	if s.delta != nil && s.possible(h).MemoryAlone() {
		s.delta.RepeatOf(s.inMemory)
	}
	if done.Stats, err = s.encoder.EncodeDelta(ctx, &counted{w, &s.progress}, h, sections, s.delta, s.grade(h)); err != nil {
		return done, err
	}
	s.digests = s.encoder.AppendDigests(s.digests[:0])
	done.Digests = s.digests
	if mayPublish != nil {
		if err := mayPublish(done); err != nil {
			return done, err
		}
	}
	encoded = true
	return done, w.Commit()
}

// counted counts the bytes that go through.
type counted struct {
	w     io.Writer
	total *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.total.Add(int64(n))
	return n, err
}

// Base and Repeat are those of a container.Repeater below, if there is one.
func (c *counted) Base(version uint64) bool {
	to, ok := c.w.(container.Repeater)
	return ok && to.Base(version)
}

func (c *counted) Repeat(off int64, n int) error {
	err := c.w.(container.Repeater).Repeat(off, n)
	c.total.Add(int64(n))
	return err
}

// Header reads only the header of a part and checks its identity. What is damaged in
// one place, or cannot be read there, is taken from the next.
func (s *Store) Header(ctx context.Context, name string, id ID, part Part) (container.Header, error) {
	fail := func(err error) (container.Header, error) {
		return container.Header{}, s.failed("read", id, part, err)
	}
	blob, err := s.Driver.Open(ctx, id, part)
	if err != nil {
		return fail(err)
	}
	defer blob.Close()
	from := blobs{first: blob}
	var errs []error // of all places, the nearest first
	for i := 0; ; i++ {
		r, size, err := from.source(i)
		if errors.Is(err, io.EOF) {
			return fail(JoinPlaces(errs...))
		}
		if err == nil && r == nil {
			continue
		}
		var h container.Header
		if err == nil {
			h, err = container.ReadHeader(r, size)
		}
		if err == nil {
			err = CheckIdentity(h, name, id, part)
		}
		if err == nil {
			return h, nil
		}
		if errs = append(errs, err); ctx.Err() != nil {
			return fail(JoinPlaces(errs...))
		}
	}
}

// failed says which part an error is about, and where that is.
func (s *Store) failed(op string, id ID, part Part, err error) error {
	return &PartError{Op: op, ID: id, Part: part, Path: s.Path(id) + string(os.PathSeparator) + part.String(), Err: err}
}

// Identity returns which part of which version a header belongs to.
func Identity(h container.Header) (ID, Part) {
	return ID{Version: h.Version, Attempt: h.Attempt}, Part{Rank: h.Rank, Size: h.Size}
}

// CheckIdentity finds files that were copied, renamed or swapped by hand: the
// error matches ErrDamaged. name is the checkpoint's.
func CheckIdentity(h container.Header, name string, id ID, part Part) error {
	gotID, gotPart := Identity(h)
	differ := func(what string, stored, place any) error {
		return &container.DamageError{
			Reason: fmt.Sprintf("the file says it is of %s %v, its place says %v: it was copied or renamed", what, stored, place),
		}
	}
	switch {
	case h.Name != name:
		return differ("checkpoint", h.Name, name)
	case gotID != id:
		return differ("version", gotID, id)
	case gotPart != part:
		return differ("part", gotPart, part)
	}
	return nil
}
