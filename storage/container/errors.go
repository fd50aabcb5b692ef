package container

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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

	// ErrReference is returned when a chunk is read that is in the file of an
	// older version, which is not there; see Reader.ResolveBy.
	ErrReference = errors.New("chunk is in the file of another version")

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
	// Version is that of the file, if it is one that was referred to; otherwise 0.
	Version uint64
}

func (e *DamageError) Error() string {
	of, in := "", ""
	if e.Version != 0 {
		of = fmt.Sprintf(" of version %d, which is referred to", e.Version)
	}
	if e.Section != "" {
		in = fmt.Sprintf("section %q, ", e.Section)
	}
	return fmt.Sprintf("container: damaged file%s: %soffset %d: %s", of, in, e.Offset, e.Reason)
}

// Is makes a DamageError match ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// ReferenceError says that a chunk could not be read because the file of the
// version that it is in could not be had. It matches ErrReference.
type ReferenceError struct {
	Version uint64
	Err     error // why; nil: nobody has said where it is
}

func (e *ReferenceError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("container: chunk is in the file of version %d, which was not given", e.Version)
	}
	return fmt.Sprintf("container: chunk is in the file of version %d: %v", e.Version, e.Err)
}

// Is makes a ReferenceError match ErrReference.
func (e *ReferenceError) Is(target error) bool { return target == ErrReference }

func (e *ReferenceError) Unwrap() error { return e.Err }

// SourcesError says why none of several sources had good bytes, for another
// reason than that all of them are damaged: it wraps those errors that are not
// damage, so that it does not match ErrDamaged.
type SourcesError struct {
	Errs []error // of the sources, in their order
}

func (e *SourcesError) Error() string {
	texts := make([]string, len(e.Errs))
	for i, err := range e.Errs {
		texts[i] = strings.TrimPrefix(err.Error(), "container: ")
	}
	return fmt.Sprintf("container: %d sources of the file, none of them good: %s", len(texts), strings.Join(texts, "; "))
}

// Unwrap returns the errors that are not damage.
func (e *SourcesError) Unwrap() []error {
	return slices.DeleteFunc(slices.Clone(e.Errs), func(err error) bool { return errors.Is(err, ErrDamaged) })
}

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
