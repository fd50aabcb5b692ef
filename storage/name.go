package storage

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the longest name of a checkpoint or a key, in bytes, so that names
// derived from it still fit into 255.
const MaxName = 200

// CheckName returns an error matching ErrName unless name can be the name of a
// file on every file system: what says what is named, "checkpoint name" or
// "key".
func CheckName(what, name string) error {
	fail := func(why string) error {
		return fmt.Errorf("%s %q: %w: %s", what, name, ErrName, why)
	}
	switch {
	case name == "":
		return fail("it is empty")
	case len(name) > MaxName:
		return fail(fmt.Sprintf("it has %d bytes, at most %d are allowed", len(name), MaxName))
	case !utf8.ValidString(name):
		return fail("it is not valid UTF-8")
	case strings.HasPrefix(name, "."):
		return fail("it starts with a dot, such names are hidden")
	case strings.HasPrefix(name, "-"):
		return fail("it starts with a hyphen, tools would take it for an option")
	case strings.TrimSpace(name) != name:
		return fail("it starts or ends with white space")
	}
	for _, r := range name {
		if strings.ContainsRune(`/\:*?"<>|`, r) || !unicode.IsPrint(r) {
			return fail(fmt.Sprintf("the character %q is not allowed in file names", r))
		}
	}
	return nil
}
