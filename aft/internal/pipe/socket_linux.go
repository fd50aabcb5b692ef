package pipe

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// listenLocal listens for processes of this host, at a name that is not a file:
// nothing is left behind. All users share these names and see them, so part of it
// is random: nobody can take it before this process does.
func listenLocal(cfg Config) (l *net.UnixListener, remove func(), err error) {
	var suffix [8]byte
	_, _ = rand.Read(suffix[:]) // never fails
	name := fmt.Sprintf("@craft-%s-%d-%x", cfg.Job, cfg.Self, suffix)
	l, err = net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	return l, func() {}, err
}

// sameUser reports whether the process at the other end belongs to this user.
func sameUser(c *net.UnixConn) error {
	var cred *unix.Ucred
	err := control(c, func(fd int) (err error) {
		cred, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	if err != nil {
		return err
	}
	if int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("%w: it belongs to user %d", ErrRefused, cred.Uid)
	}
	return nil
}

// inFlight is the number of bytes that the kernel of the other host has not got.
func inFlight(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.SIOCOUTQ) }

func limitSilence(fd int, limit time.Duration) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
}
