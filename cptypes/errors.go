package cptypes

import (
	"errors"
	"fmt"
	"io"

	"github.com/craft-go/craft/cptypes/internal/codec"
	"github.com/craft-go/craft/cptypes/internal/element"
)

// The sentinels of this package. Messages say more; act on these.
var (
	// ErrNil is returned when a nil, or a nil pointer, is given as a value.
	ErrNil = errors.New("nil value")

	// ErrUnsupported is returned when Of knows no way to store a type.
	ErrUnsupported = element.ErrUnsupported

	// ErrRegistered is returned when Register is called for a type that has an
	// adapter already, or that needs none.
	ErrRegistered = errors.New("type needs no adapter")

	// ErrMismatch is returned when what is stored cannot go into the value that
	// it is to be read into. The error is a *MismatchError.
	ErrMismatch = errors.New("stored value does not fit")

	// ErrLength is returned when a slice has another number of elements than
	// its constructor (Partitioned, Matrix) was told.
	ErrLength = errors.New("wrong number of elements")

	// ErrCorrupt is returned when stored bytes are not what any value of the
	// type would have written.
	ErrCorrupt = element.ErrCorrupt

	// ErrBox is returned when the numbers given for a box, a matrix or a global
	// shape make no sense: negative, reversed or outside of the array.
	ErrBox = errors.New("invalid box")

	// ErrShared is returned when a pointer or a map is reached twice in a struct
	// or map that is written: it would be read back as two.
	ErrShared = codec.ErrShared

	// ErrDepth is returned when pointers, slices and maps are nested too deeply
	// to be written.
	ErrDepth = codec.ErrDepth

	// ErrCSR is returned when the slices of a CSR matrix contradict each other.
	ErrCSR = errors.New("invalid CSR matrix")

	// ErrCover is returned when boxes leave a gap in a global array, or
	// overlap. The error is a *CoverError.
	ErrCover = errors.New("boxes do not cover the array exactly once")
)

// MismatchError says why a stored value cannot be read into the program's.
// It matches ErrMismatch.
type MismatchError struct {
	Stored Desc   // what the checkpoint holds
	Have   Desc   // what the program has
	Reason string // what differs, and what is allowed
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("cptypes: stored is %s, the program has %s: %s",
		describe(e.Stored), describe(e.Have), e.Reason)
}

// Is reports whether target is ErrMismatch.
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

func mismatch(stored, have Desc, format string, args ...any) error {
	return &MismatchError{Stored: stored, Have: have, Reason: fmt.Sprintf(format, args...)}
}

// invalid stands for a constructor that was called with wrong arguments: it
// can be used inline in an Add call, and Of brings its error out.
type invalid struct{ err error }

var _ Value = (*invalid)(nil)

func (v *invalid) WriteTo(io.Writer) (int64, error)  { return 0, v.err }
func (v *invalid) ReadFrom(io.Reader) (int64, error) { return 0, v.err }
