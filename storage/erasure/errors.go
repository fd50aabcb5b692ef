package erasure

import (
	"errors"
	"fmt"

	"github.com/craft-go/craft/storage/container"
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
	ErrMismatch = errors.New("parity files do not belong together")

	// ErrInvalid is returned for arguments that make no sense.
	ErrInvalid = errors.New("invalid argument")
)

// LossError says where more is lost than can be brought back.
type LossError struct {
	Stripe  int64
	Missing []int // members whose blocks of the stripe are lost
	Parity  int   // how many may be
	Err     error // why blocks could not be read whose files are there; may be nil
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

// PartError says that the part of a member is not what was written: either a
// source has wrong bytes, or it was rebuilt from wrong ones. It matches
// ErrDamaged.
type PartError struct {
	Member    int
	Rebuilt   bool   // not: it is the source that is wrong
	Got, Want uint32 // CRC-32C
}

func (e *PartError) Error() string {
	what := "part"
	if e.Rebuilt {
		what = "rebuilt part"
	}
	return fmt.Sprintf("erasure: %s of member %d has checksum %08x, it was written with %08x", what, e.Member, e.Got, e.Want)
}

// Is makes a PartError match ErrDamaged.
func (e *PartError) Is(target error) bool { return target == ErrDamaged }

func invalidf(format string, args ...any) error {
	return fmt.Errorf("erasure: "+format+": %w", append(args, ErrInvalid)...)
}
