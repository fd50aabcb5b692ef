package container

import (
	"errors"
	"fmt"
)

var (
	// ErrDamaged is returned when a file's bytes are not what was written: a
	// wrong magic number, a truncated file, a failed checksum, bytes behind the
	// end. Errors of the device (EIO, EACCES) do not match it.
	ErrDamaged = errors.New("damaged file")

	// ErrUnsupported is returned when a file is undamaged, but needs a newer
	// reader than this one.
	ErrUnsupported = errors.New("unsupported file format")

	// ErrElsewhere is returned when a chunk of a split section is read that is
	// stored in another rank's file; see Join.
	ErrElsewhere = errors.New("chunk is in another rank's file")

	// ErrInvalid is returned when Encode is given a header, a section or
	// options that the format cannot hold.
	ErrInvalid = errors.New("invalid argument")
)

// DamageError says what is wrong with the bytes of a file and where. It matches
// ErrDamaged.
type DamageError struct {
	Section string // key of the section; empty outside of sections
	Offset  int64  // in the file, in bytes
	Reason  string
}

func (e *DamageError) Error() string {
	if e.Section != "" {
		return fmt.Sprintf("container: damaged file: section %q, offset %d: %s", e.Section, e.Offset, e.Reason)
	}
	return fmt.Sprintf("container: damaged file: offset %d: %s", e.Offset, e.Reason)
}

// Is makes a DamageError match ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// SectionError says why a section cannot be stored: a mistake of the program
// that described it. It matches ErrInvalid.
type SectionError struct {
	Key    string
	Index  int // position in the list of sections
	Reason string
}

func (e *SectionError) Error() string {
	return fmt.Sprintf("container: section %d, key %q: %s", e.Index, e.Key, e.Reason)
}

// Is makes a SectionError match ErrInvalid.
func (e *SectionError) Is(target error) bool { return target == ErrInvalid }

// DisagreeError is returned by Join when the parts are not parts of one value:
// a replicated value was not the same on all ranks.
type DisagreeError struct {
	Key   string
	Parts [2]int // indices of two parts that differ
	What  string // what differs, with both values
}

func (e *DisagreeError) Error() string {
	return fmt.Sprintf("container: key %q: parts %d and %d disagree: %s", e.Key, e.Parts[0], e.Parts[1], e.What)
}

func invalidf(format string, args ...any) error {
	return fmt.Errorf("container: "+format+": %w", append(args, ErrInvalid)...)
}

func unsupportedf(format string, args ...any) error {
	return fmt.Errorf("container: "+format+": %w", append(args, ErrUnsupported)...)
}
