package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
)

var (
	// ErrNoUsableVersion is returned by RestartIfNeeded when there are complete
	// versions but none of them can be read, or a rank has adopted one and there is none
	// to go on from. The program must not start from zero without somebody's decision.
	ErrNoUsableVersion = errors.New("no usable version")

	// ErrStrict is returned by RestartIfNeeded with CRAFT_STRICT at the start of a job,
	// on all ranks, where it would only warn otherwise: a version that is newer than what
	// it would restore is absent or damaged, may be on nodes that are not here, or is of
	// another branch. Nothing has been changed. To start the job again does not help:
	// somebody has to decide.
	ErrStrict = errors.New("strict start refused")

	// ErrFingerprint is returned when the directory belongs to another problem, or
	// its versions were nested in other checkpoints.
	ErrFingerprint = errors.New("checkpoint of another problem")

	// ErrKey is matched by every error about a single key: duplicate, missing in
	// the stored version, stored but not added, or of another type; also by those
	// that match ErrRanks, ErrDisagree, ErrChanged or ErrGuard, so ask for these first.
	ErrKey = errors.New("key error")

	// ErrRanks is returned when a value that is local to its rank is to be
	// restored by another number of ranks.
	ErrRanks = errors.New("another number of ranks")

	// ErrDisagree is returned when ranks hold different values of a replicated
	// key, their boxes of a partitioned one do not cover the array once, or they
	// have different settings, or do not write to one file system and directory.
	ErrDisagree = errors.New("ranks disagree")

	// ErrState is returned for calls in the wrong order: Add after Commit,
	// anything else before it, anything after Close.
	ErrState = errors.New("call out of order")

	// ErrArgument is returned for an argument that cannot be meant.
	ErrArgument = errors.New("invalid argument")

	// ErrChanged is returned with CRAFT_WRITE_ASYNC_ZERO_COPY=1 or
	// CRAFT_ASYNC_CHECK=1 when a value changed while it was being written; the
	// version is not stored.
	ErrChanged = errors.New("value changed while it was being written")
)

// AsyncError says that an earlier version could not be written in the
// background. It is returned, on all ranks, by the next call that waits for the
// version: a due UpdateAndWrite or Write, which has begun the next version all
// the same, or Wait. Close returns it on the ranks where the write failed.
type AsyncError struct {
	Version   uint64
	Iteration int64 // NoIteration: none
	Err       error
}

func (e *AsyncError) Error() string {
	return fmt.Sprintf("version %d, of iteration %v, could not be written in the background: %v", e.Version, iterationAttr(e.Iteration), e.Err)
}

func (e *AsyncError) Unwrap() error { return e.Err }

// KeyError says what is wrong with one key.
type KeyError struct {
	Key string
	Err error
}

func (e *KeyError) Error() string        { return fmt.Sprintf("key %q: %v", e.Key, e.Err) }
func (e *KeyError) Unwrap() error        { return e.Err }
func (e *KeyError) Is(target error) bool { return target == ErrKey }

// RankError is what all ranks return when something went wrong on another one.
type RankError struct {
	Rank    comm.Rank
	Message string
	is      []error
	refusal *GuardError
}

func (e *RankError) Error() string { return fmt.Sprintf("rank %d: %s", e.Rank, e.Message) }

// Elsewhere says that the error itself is one of another rank, which has returned it at the same time.
func (e *RankError) Elsewhere() bool { return true }

// Is makes the error match the same sentinels as the original one does on its
// own rank.
func (e *RankError) Is(target error) bool { return slices.Contains(e.is, target) }

// As finds the refusal of a guard.
func (e *RankError) As(target any) bool {
	to, ok := target.(**GuardError)
	if ok = ok && e.refusal != nil; ok {
		*to = e.refusal
	}
	return ok
}

// join puts what a message names into one text.
func join[T any](list []T, sep string, text func(T) string) string {
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i] = text(one)
	}
	return strings.Join(texts, sep)
}

// sentinels travel between ranks by their index.
var sentinels = []error{
	ErrNoUsableVersion, ErrFingerprint, ErrKey, ErrRanks, ErrDisagree, ErrState, ErrArgument,
	storage.ErrDamaged, storage.ErrNotFound, storage.ErrLocked, storage.ErrLockLost, storage.ErrVanished,
	cptypes.ErrMismatch, cptypes.ErrShared, ErrChanged, ErrStrict, ErrGuard, syscall.ENOSPC, syscall.EDQUOT,
	comm.ErrProcFailed, comm.ErrRevoked, comm.ErrFenced, demand.ErrTimeOver,
}
