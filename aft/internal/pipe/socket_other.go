//go:build !linux

package pipe

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// listenLocal listens for processes of this host, in a directory of this user.
func listenLocal(cfg Config) (l *net.UnixListener, remove func(), err error) {
	dir, err := os.MkdirTemp("", "craft-")
	if err != nil {
		return nil, nil, err
	}
	name := filepath.Join(dir, fmt.Sprint(cfg.Self))
	l, err = net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, nil, err
	}
	return l, func() { _ = os.RemoveAll(dir) }, nil
}

// sameUser relies on the socket's directory, which is private.
func sameUser(*net.UnixConn) error { return nil }

func inFlight(int) (int, error) { return 0, nil }

// limitSilence cannot be had here: the system's own limit holds for data.
func limitSilence(int, time.Duration) error { return nil }
