package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

// ErrShape is returned when a box does not lie in the array.
var ErrShape = errors.New("not in the array")

// Array reads a whole array of numbers, in row-major order, and its shape: a partitioned one
// is put together from the parts of all ranks, of any other it is that of rank 0, which is
// the same on all ranks if the value is replicated.
func Array[T cptypes.Elem](ctx context.Context, s *Snapshot, key string) (data []T, shape []int64, err error) {
	desc, err := s.desc(key)
	if err != nil {
		return nil, nil, s.failed(err)
	}
	if desc.Dist != container.Partitioned {
		rank := 0
		if desc.Dist == container.Replicated {
			rank = s.first.Rank // the first that can be read
		}
		return data, desc.Shape, s.Read(ctx, key, rank, &data)
	}
	whole := cptypes.Box{Lo: make([]int64, len(desc.Global)), Hi: desc.Global}
	data, err = Box[T](ctx, s, key, whole)
	return data, desc.Global, err
}

func (s *Snapshot) desc(key string) (cptypes.Desc, error) {
	i := slices.IndexFunc(s.keys, func(k Key) bool { return k.Name == key })
	if i < 0 {
		return cptypes.Desc{}, fmt.Errorf("%w %q", ErrKey, key)
	}
	return s.keys[i].Desc, nil
}

// Box reads the elements lo <= i < hi, in each dimension, of a partitioned array, in
// row-major order: of each part that has some of them, these alone are read.
func Box[T cptypes.Elem](ctx context.Context, s *Snapshot, key string, box cptypes.Box) (data []T, err error) {
	desc, err := s.desc(key)
	if err != nil {
		return nil, s.failed(err)
	}
	if desc.Dist != container.Partitioned {
		return nil, s.failed(fmt.Errorf("key %q is %v: only partitioned arrays have boxes, use Read or Array", key, desc.Dist))
	}
	v, err := cptypes.Of(cptypes.PartitionedBox(&data, box, desc.Global))
	if err == nil {
		err = cptypes.MakeRoom(v, desc)
	}
	if err != nil {
		if errors.Is(err, cptypes.ErrBox) {
			err = fmt.Errorf("%w: %w", ErrShape, err)
		}
		return nil, s.failed(fmt.Errorf("key %q: %w", key, err))
	}
	var boxes []container.Box
	for rank := range s.is.Size() {
		stored, err := s.readOverlap(ctx, key, rank, box, v.(cptypes.BoxReader))
		if err != nil {
			return nil, s.failed(keyed(key, rank, err))
		}
		boxes = append(boxes, stored)
	}
	if err := cptypes.Cover(desc.Global, boxes); err != nil {
		return nil, s.failed(fmt.Errorf("key %q: the parts of the ranks do not cover the array once: %w", key, err))
	}
	return data, nil
}

// readOverlap reads what a rank has of a box, and returns which box it has.
func (s *Snapshot) readOverlap(ctx context.Context, key string, rank int, box cptypes.Box, v cptypes.BoxReader) (has container.Box, err error) {
	err = s.with(ctx, key, rank, func(section *container.SectionReader) error {
		stored := section.Info().Desc
		has = stored.Box
		if _, overlap := box.Intersect(has); !overlap {
			return nil
		}
		return v.ReadBox(stored, section)
	})
	return has, err
}
