package element

import (
	"errors"
	"fmt"
	"io"
)

// cptypes says of its own errors, which these are, when they are returned.
var (
	ErrCorrupt     = errors.New("invalid stored bytes")
	ErrUnsupported = errors.New("unsupported type")
)

// Short is the error of a reader that held fewer bytes than the value needs.
func Short(err error, got, want int64) error {
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("cptypes: read %d of %d bytes: %w", got, want, err)
}
