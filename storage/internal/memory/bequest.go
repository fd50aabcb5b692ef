package memory

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/offheap"
	"github.com/craft-go/craft/storage"
)

// BequestName is what an heir of the memory asks its session for.
const BequestName = "memory of versions"

var _ comm.Bequeather = (*Store)(nil)

// contents say what is where in slabs that are left to another process, the first of which has them.
type contents struct {
	Objects []leftObject
}

// leftObject is an object of a checkpoint.
type leftObject struct {
	Checkpoint string
	Key        storage.ObjectKey
	Size       int64
	Spare      bool
	Pieces     []leftPiece
}

// leftPiece is a piece of an object: see piece.
type leftPiece struct {
	Slab, Extent int
	From, N      int
}

// Bequeath implements comm.Bequeather: all objects that are whole, where other processes can map them. Nothing is
// written any more: what is left stays as it is.
func (s *Store) Bequeath() (name string, left []comm.Memory) {
	s.extents.freeze()
	c, slabs := s.contents()
	if len(c.Objects) == 0 {
		return BequestName, nil
	}
	first, err := c.write()
	if err != nil {
		return BequestName, nil // as if the memory were this process's alone
	}
	left = append(left, comm.Memory(first.Address()))
	for _, one := range slabs {
		left = append(left, comm.Memory(one.segment.Address()))
	}
	return BequestName, left
}

// freeze ends the use of memory for anything new, and that it is given back.
func (x *extents) freeze() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.frozen, x.short = true, false
}

// contents are all objects that others can map, and the slabs that these are in.
func (s *Store) contents() (c contents, slabs []*slab) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.of)) {
		slabs = s.of[name].leave(name, &c, slabs)
	}
	return c, slabs
}

func (o *Objects) leave(name string, c *contents, slabs []*slab) []*slab {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range slices.SortedFunc(maps.Keys(o.list), storage.ObjectKey.Compare) {
		object := o.list[key]
		if slices.ContainsFunc(object.pieces, func(p piece) bool { return p.of.of.segment == nil }) {
			continue
		}
		left := leftObject{Checkpoint: name, Key: key, Size: object.size, Spare: object.spare}
		for _, p := range object.pieces {
			at := slices.Index(slabs, p.of.of)
			if at < 0 {
				at, slabs = len(slabs), append(slabs, p.of.of)
			}
			left.Pieces = append(left.Pieces, leftPiece{at, p.of.index, p.from, p.n})
		}
		c.Objects = append(c.Objects, left)
	}
	return slabs
}

// write puts the contents into memory of their own: their length, and they.
func (c contents) write() (*offheap.Segment, error) {
	var b bytes.Buffer
	b.Write(make([]byte, 8))
	if err := gob.NewEncoder(&b).Encode(c); err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-8))
	segment, err := newSegment(b.Len())
	if err != nil {
		return nil, err
	}
	copy(segment.Bytes, b.Bytes())
	return segment, nil
}

// Inherit takes over what another process has left, and is called before anything else. After an error nothing is taken.
func (s *Store) Inherit(left []comm.Memory) error {
	if len(left) == 0 {
		return nil
	}
	c, err := openContents(offheap.Address(left[0]))
	if err != nil {
		return err
	}
	var adopted slabs
	for _, m := range left[1:] {
		one, err := adoptSlab(offheap.Address(m))
		if err != nil {
			adopted.release()
			return err
		}
		adopted.list = append(adopted.list, one)
	}
	if err := c.check(adopted.list); err != nil {
		adopted.release()
		return err
	}
	objects := s.extents.adopt(adopted.list, c.Objects)
	for i, left := range c.Objects {
		o := s.Of(left.Checkpoint)
		o.mu.Lock()
		o.list[left.Key] = objects[i]
		o.mu.Unlock()
	}
	return nil
}

// openContents reads the contents, which stay as they are: another one may inherit if this process ends soon.
func openContents(a offheap.Address) (c contents, err error) {
	w, err := a.Open()
	if err != nil {
		return c, err
	}
	defer w.Close()
	b := make([]byte, a.Size)
	if _, err := w.ReadAt(b, 0); err != nil {
		return c, err
	}
	return readContents(b)
}

func readContents(b []byte) (c contents, err error) {
	if len(b) < 8 || binary.LittleEndian.Uint64(b) > uint64(len(b)-8) {
		return c, errContents
	}
	if err := gob.NewDecoder(bytes.NewReader(b[8:][:binary.LittleEndian.Uint64(b)])).Decode(&c); err != nil {
		return c, fmt.Errorf("%w: %w", errContents, err)
	}
	return c, nil
}

var errContents = errors.New("what another process has left in memory is not understood")

func adoptSlab(a offheap.Address) (*slab, error) {
	segment, err := a.Adopt()
	if err != nil {
		return nil, err
	}
	made := &slab{b: segment.Bytes[min(tableSize, len(segment.Bytes)):], segment: segment, uses: usesIn(segment.Bytes)}
	made.free = slices.Repeat([]bool{true}, len(made.uses))
	made.idle = len(made.free)
	return made, nil
}

// check returns an error if pieces are not in the slabs, or do not make up the objects.
func (c contents) check(slabs []*slab) error {
	for _, object := range c.Objects {
		size := int64(0)
		for _, p := range object.Pieces {
			if p.Slab < 0 || p.Slab >= len(slabs) || p.Extent < 0 || p.Extent >= len(slabs[p.Slab].free) ||
				p.From < 0 || p.N < 1 || p.N > extentSize || p.From > extentSize-p.N {
				return fmt.Errorf("%w: %v has a piece %+v", errContents, object.Key, p)
			}
			size += int64(p.N)
		}
		if size != object.Size {
			return fmt.Errorf("%w: %v has %d bytes of %d", errContents, object.Key, size, object.Size)
		}
	}
	return nil
}

// adopt adds slabs, of which what is in use is what some objects have.
func (x *extents) adopt(slabs []*slab, left []leftObject) (objects []*object) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.slabs.list = slices.Concat(slabs, x.slabs.list) // the last one may have memory that was never used
	type place struct{ slab, extent int }
	owned := make(map[place]*extent)
	for _, one := range left {
		made := &object{spare: one.Spare}
		for _, p := range one.Pieces {
			at := place{p.Slab, p.Extent}
			if owned[at] == nil {
				s := slabs[p.Slab]
				owned[at] = &extent{of: s, index: p.Extent}
				s.free[p.Extent] = false
				s.idle--
				x.used += extentSize
			}
			owned[at].users++
			made.pieces = append(made.pieces, piece{of: owned[at], from: p.From, n: p.N, at: made.size})
			made.size += int64(p.N)
		}
		objects = append(objects, made)
	}
	x.most = max(x.most, x.used)
	return objects
}
