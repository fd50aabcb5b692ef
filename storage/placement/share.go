package placement

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// share tells all ranks what each has to say about something. The problem of one of them is
// an error on all.
func share[T any](ctx context.Context, c *comm.Comm, about string, own T, problem error) ([]T, error) {
	type said struct {
		What   T
		Err    string
		Locked bool // Err is that another job uses what it is about
	}
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(said{own, text(problem), errors.Is(problem, storage.ErrLocked)}); err != nil {
		return nil, err
	}
	all, err := comm.AllgatherBytes(ctx, c, data.Bytes())
	switch {
	case err != nil:
		return nil, err
	case problem != nil:
		return nil, problem
	}
	out := make([]T, len(all))
	for r, data := range all {
		var rank said
		err := gob.NewDecoder(bytes.NewReader(data)).Decode(&rank)
		switch {
		case err != nil:
			return nil, fmt.Errorf("what rank %d says of %s: %w", r, about, err)
		case rank.Locked:
			return nil, &RankError{Rank: comm.Rank(r), Text: rank.Err, Err: storage.ErrLocked}
		case rank.Err != "":
			return nil, &RankError{Rank: comm.Rank(r), Text: rank.Err}
		}
		out[r] = rank.What
	}
	return out, nil
}
