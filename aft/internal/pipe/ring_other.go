//go:build !linux

package pipe

import (
	"errors"
	"os"
)

// Without sealed memory there is no ring.
var errNoRing = errors.New("no shared memory on this system")

func newRing(int) (*ring, *os.File, error) { return nil, nil, errNoRing }
func openRing(int, int) (*ring, error)     { return nil, errNoRing }
func (*ring) unmap()                       {}
