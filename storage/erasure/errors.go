package erasure

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/internal/exchange"
)

var (
	// ErrDamaged is matched by errors that say that bytes of a parity file are
	// wrong, or that a rebuilt part is not what was written. It is
	// storage.ErrDamaged.
	ErrDamaged = container.ErrDamaged

	// ErrUnsupported is returned for a parity file that needs a newer reader.
	ErrUnsupported = container.ErrUnsupported

	// ErrTooManyLost is matched by a *LossError.
	ErrTooManyLost = errors.New("more is lost than the parity can bring back")

	// ErrMismatch is returned when parity files are not of one set and version.
	ErrMismatch = errors.New("parity does not belong together")

	// ErrInvalid is returned for arguments that make no sense.
	ErrInvalid = errors.New("invalid argument")

	// ErrGivenUp is the reason of a GiverError when a member has aborted its part,
	// or does not write the version.
	ErrGivenUp = errors.New("given up")

	// ErrOver is returned for a part of a version whose parity has been made
	// already.
	ErrOver = errors.New("the parity of the version is made already")
)

// ofVersion says which version an error is about.
func ofVersion(id storage.ID, err error) error {
	return fmt.Errorf("erasure: parity of %v: %w", id, err)
}

// HolderError says that a rank does not hold the parity that it should, and why:
// Err is a *GiverError if another rank is the reason, comm.ErrProcFailed if it has
// died itself, syscall.ENOSPC if its node is full.
type HolderError struct {
	ID   storage.ID
	Rank int
	Err  error
}

func (e *HolderError) Error() string {
	return fmt.Sprintf("erasure: rank %d does not hold parity of %v: %v", e.Rank, e.ID, e.Err)
}

func (e *HolderError) Unwrap() error { return e.Err }

// GiverError says because of which rank there is no parity of a version.
type GiverError struct {
	ID   storage.ID
	Rank int
	Err  error // ErrGivenUp, comm.ErrProcFailed, ErrMismatch...
}

// giverMark is what a GiverError says in the words of findGiver.
const giverMark = "did not give its part"

func (e *GiverError) Error() string {
	return fmt.Sprintf("erasure: no parity of %v: rank %d %s: %v", e.ID, e.Rank, giverMark, e.Err)
}

func (e *GiverError) Unwrap() error { return e.Err }

var giverPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`: rank (\d+) ` + giverMark) })

// findGiver makes a *GiverError again of one that has come from another rank, of
// which only the text, and what errors.Is finds, are left.
func findGiver(id storage.ID, err error) error {
	var remote *exchange.RemoteError
	if !errors.As(err, &remote) {
		return err
	}
	m := giverPattern().FindStringSubmatch(remote.Text)
	if m == nil {
		return err
	}
	rank, atoi := strconv.Atoi(m[1])
	if atoi != nil {
		return err
	}
	return &GiverError{ID: id, Rank: rank, Err: err}
}

// LossError says where more is lost than can be brought back.
type LossError struct {
	Stripe  int64
	Missing []int // members whose blocks of the stripe are lost
	Parity  int   // how many may be
	Err     error // why blocks could not be read; may be nil
}

func (e *LossError) Error() string {
	s := fmt.Sprintf("erasure: stripe %d: the blocks of members %v are lost, parity brings back %d", e.Stripe, e.Missing, e.Parity)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes a LossError match ErrTooManyLost.
func (e *LossError) Is(target error) bool { return target == ErrTooManyLost }

func (e *LossError) Unwrap() error { return e.Err }

// DamageError says what is wrong with the bytes of a parity file. It matches
// ErrDamaged.
type DamageError struct {
	Offset int64 // in the file, in bytes
	Reason string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("erasure: damaged parity file: offset %d: %s", e.Offset, e.Reason)
}

// Is makes a DamageError match ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// PartError says that a rebuilt part is not what was written: it was made from
// wrong bytes. It matches ErrDamaged.
type PartError struct {
	Member    int
	Got, Want uint32 // CRC-32C
}

func (e *PartError) Error() string {
	return fmt.Sprintf("erasure: rebuilt part of member %d has checksum %08x, it was written with %08x", e.Member, e.Got, e.Want)
}

// Is makes a PartError match ErrDamaged.
func (e *PartError) Is(target error) bool { return target == ErrDamaged }

func mismatch(what string) error { return fmt.Errorf("%s: %w", what, ErrMismatch) }

func invalidf(format string, args ...any) error {
	return fmt.Errorf("erasure: "+format+": %w", append(args, ErrInvalid)...)
}
