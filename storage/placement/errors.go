package placement

import (
	"errors"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
)

var (
	// ErrConfig is matched by errors about what the levels are made of.
	ErrConfig = errors.New("levels cannot be built")

	// ErrCommand is returned for a request of another rank that makes no sense.
	ErrCommand = errors.New("unknown request")
)

// RankError is an error of another rank.
type RankError struct {
	Rank comm.Rank
	Text string
	Err  error // that it matches there, such as storage.ErrLocked; nil: not known
}

func (e *RankError) Error() string { return fmt.Sprintf("rank %d: %s", e.Rank, e.Text) }
func (e *RankError) Unwrap() error { return e.Err }
