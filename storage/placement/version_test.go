package placement_test

import (
	"context"
	"errors"
	"io"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/placement"
)

func idOf(version uint64) storage.ID {
	return storage.ID{Version: version, Attempt: container.AttemptID{1, 2, 3}}
}

// begin looks for what there is, on all ranks, as a checkpoint does.
func begin(ctx context.Context, s *placement.Placement, keep func(storage.Entry) bool) error {
	if err := s.Survey(ctx); err != nil {
		return err
	}
	if s.Comm().Rank() == 0 {
		if err := s.Prepare(ctx, keep); err != nil {
			return err
		}
	}
	return comm.Barrier(ctx, s.Comm())
}

// put writes this rank's part of a version: a container with one value.
func put(ctx context.Context, s *placement.Placement, store *storage.Store, version uint64, value []byte) (container.Header, error) {
	id := idOf(version)
	h := container.Header{
		Name: "cp", Version: version, Attempt: id.Attempt, Rank: int(s.Comm().Rank()), Size: s.Comm().Size(),
	}
	storage.SetPlanned(&h, s.Plan(version))
	desc := container.Desc{Elem: container.Uint8, Shape: []int64{int64(len(value))}}
	_, err := store.Write(ctx, h, []container.Section{{Key: "x", Desc: desc, Spans: [][]byte{value}}}, nil)
	return h, err
}

// read is the value of a rank's part.
func read(ctx context.Context, store *storage.Store, version uint64, part storage.Part) ([]byte, error) {
	f, err := store.Open(ctx, "cp", idOf(version), part)
	if err != nil {
		return nil, err
	}
	section, _ := f.Section("x")
	value, err := io.ReadAll(section.NewReader(ctx))
	return value, errors.Join(err, f.Close())
}
