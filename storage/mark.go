package storage

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxLabel is the longest label of a version, in bytes.
const MaxLabel = 100

// CheckLabel returns an error matching ErrName unless people can read, type and tell apart a
// label. It is no name of a file.
func CheckLabel(label string) error {
	fail := func(why string) error { return fmt.Errorf("label %q: %w: %s", label, ErrName, why) }
	switch {
	case label == "":
		return fail("it is empty")
	case len(label) > MaxLabel:
		return fail(fmt.Sprintf("it has %d bytes, at most %d are allowed", len(label), MaxLabel))
	case !utf8.ValidString(label):
		return fail("it is not valid UTF-8")
	case strings.TrimSpace(label) != label:
		return fail("it starts or ends with white space")
	}
	for _, r := range label {
		if !unicode.IsPrint(r) || strings.ContainsRune(`/\`, r) {
			return fail(fmt.Sprintf("the character %q is not allowed: printable ones are, but no slash or backslash", r))
		}
	}
	return nil
}

// Mark keeps a version, and those that it refers to, whatever retention says. It is a file
// beside the versions, so that whoever has the directory can set it, and a job that is writing there
// sees it.
type Mark struct {
	ID ID
	// Oldest is the number of the oldest version of the attempt that it refers to; 0: none.
	Oldest uint64
	Label  string // "": what the file says cannot be read, and it counts all the same
	// ByHand: somebody has asked for it, and not the program: no program takes it back.
	ByHand  bool
	Created time.Time
}

// Keeps reports whether a version must stay because of the mark.
func (m Mark) Keeps(id ID) bool {
	return m.ID == id || m.Oldest != 0 && m.ID.Attempt == id.Attempt && id.Version >= m.Oldest && id.Version < m.ID.Version
}
