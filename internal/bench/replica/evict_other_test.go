//go:build !linux

package replica

import (
	"errors"
	"os"
)

func forget(*os.File) error { return errors.ErrUnsupported }
