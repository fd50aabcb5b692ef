package pipe

import (
	"time"

	"golang.org/x/sys/unix"
)

func limitSilence(fd int, limit time.Duration) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
}
