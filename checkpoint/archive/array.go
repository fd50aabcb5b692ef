package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

// ErrShape is returned when a box does not lie in the array.
var ErrShape = errors.New("not in the array")

// Array reads a whole array of numbers, in row-major order, and its shape: a partitioned one
// is put together from the parts of all ranks, of any other it is that of rank 0, which is
// the same on all ranks if the value is replicated.
func Array[T cptypes.Elem](ctx context.Context, s *Snapshot, key string) (data []T, shape []int64, err error) {
	desc, err := s.desc(ctx, key)
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

// desc describes a value as the first rank that has it, the others being asked only if that
// whose part was read first has it not.
func (s *Snapshot) desc(ctx context.Context, key string) (cptypes.Desc, error) {
	if i, ok := s.keys.at[key]; ok {
		return s.keys.list[i].Desc, nil
	}
	keys, err := s.allKeys(ctx)
	if i, ok := keys.at[key]; ok {
		return keys.list[i].Desc, nil
	}
	if err != nil {
		return cptypes.Desc{}, fmt.Errorf("key %q is in no part that can be read: %w", key, err)
	}
	return cptypes.Desc{}, fmt.Errorf("%w %q", ErrKey, key)
}

// Box reads the elements lo <= i < hi, in each dimension, of a partitioned array, in
// row-major order: of each part that has some of them, these alone are read.
func Box[T cptypes.Elem](ctx context.Context, s *Snapshot, key string, box cptypes.Box) (data []T, err error) {
	desc, err := s.desc(ctx, key)
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
		err := s.with(ctx, key, rank, func(section *container.SectionReader) error {
			stored := section.Info().Desc
			boxes = append(boxes, stored.Box)
			if _, overlap := box.Intersect(stored.Box); !overlap {
				return nil
			}
			return v.(cptypes.BoxReader).ReadBox(stored, section)
		})
		if err != nil {
			return nil, err
		}
	}
	if err := cptypes.Cover(desc.Global, boxes); err != nil {
		return nil, s.failed(fmt.Errorf("key %q: the parts of the ranks do not cover the array once: %w", key, err))
	}
	return data, nil
}
