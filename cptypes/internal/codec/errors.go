package codec

import (
	"errors"
	"fmt"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// cptypes says of its own errors, which these are, when they are returned. See package
// element for others.
var (
	ErrShared = errors.New("reached twice")
	ErrDepth  = errors.New("nested too deeply")
)

// UnfitError is the reason why what is stored cannot be read into the program's type.
type UnfitError struct{ Reason string }

func (e *UnfitError) Error() string { return e.Reason }

func unfitf(format string, args ...any) error { return &UnfitError{fmt.Sprintf(format, args...)} }

// located is an error at a place in a value.
type located struct {
	path string // from the value that the code at hand works on
	err  error
}

func (e *located) Error() string { return e.path + ": " + e.err.Error() }
func (e *located) Unwrap() error { return e.err }

// maxPath ends the path of an error that happens deep in a list.
const maxPath = 120

// within adds a step to the path of an error that has one.
func within(step string, err error) error {
	if e, ok := err.(*located); ok {
		switch {
		case len(e.path) < maxPath:
			e.path = step + e.path
		case e.path[0] != '[' || e.path[1] != '.':
			e.path = "[...]" + e.path
		}
	}
	return err
}

// locate says where in a value of the codec an error happened, as far as that is known.
func (c *Codec) locate(err error) error {
	var at *located
	if errors.As(err, &at) {
		return fmt.Errorf("cptypes: %s%s: %w", c.name, at.path, at.err)
	}
	return err
}

func corruptf(format string, args ...any) error {
	return &located{"", fmt.Errorf("%w: %s", element.ErrCorrupt, fmt.Sprintf(format, args...))}
}
