package pipe

import (
	"cmp"
	"fmt"
	"log/slog"
	"math/bits"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// SecretSize is the length of a job's secret in bytes.
const SecretSize = 32

const (
	defaultRing    = 1 << 20
	minRing        = 2 * peekSize // half of it holds all that a reader may wait for
	maxRing        = 64 << 20
	defaultTimeout = 10 * time.Second
	maxPending     = 64
	maxJob         = 64 // bytes: an abstract socket's name has 107
)

// Config is one process as others see it.
type Config struct {
	Job    string // name of the job, part of the socket's name
	Secret []byte // of the job, SecretSize bytes
	Self   uint32 // number of this process
	// Ring is the size in bytes of the memory shared with a process of the same
	// host, rounded up to a power of two; 0: 1 MiB; negative: none.
	Ring int
	// Timeout is what a handshake may take; 0: 10 s.
	Timeout time.Duration
	// Silence is how long another host may not answer; then the pipe is broken.
	// 0: as the system has it, which may be a quarter of an hour.
	Silence time.Duration
	// Pending is how many connections may be in their handshake at once, for each
	// listening socket; 0: 64, and not more than 1/32 of the files that this process
	// may open. When all places are taken, a handshake may take a fortieth of
	// Timeout, and a tenth of that before anything has been said.
	Pending int
	Log     *slog.Logger // nil: discarded
}

// pendingLimit leaves the files of this process to those who have proved themselves
// and to what it is there for.
func pendingLimit() int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return maxPending
	}
	return int(max(1, min(maxPending, files.Cur/32)))
}

func (c Config) validated() (Config, error) {
	if len(c.Secret) != SecretSize {
		return c, fmt.Errorf("%w: the secret has %d bytes, must have %d", ErrConfig, len(c.Secret), SecretSize)
	}
	if c.Job == "" || len(c.Job) > maxJob {
		return c, fmt.Errorf("%w: the job's name %q must have 1 to %d bytes", ErrConfig, c.Job, maxJob)
	}
	if strings.ContainsFunc(c.Job, func(r rune) bool { return r <= ' ' || r == '/' || r >= 0x7f }) {
		return c, fmt.Errorf("%w: the job's name %q must be of printable characters without / and blanks", ErrConfig, c.Job)
	}
	if c.Ring > maxRing {
		return c, fmt.Errorf("%w: a ring of %d bytes, must be at most %d", ErrConfig, c.Ring, maxRing)
	}
	c.Ring = cmp.Or(c.Ring, defaultRing)
	if c.Ring > 0 {
		c.Ring = max(minRing, 1<<bits.Len(uint(c.Ring-1)))
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Pending = cmp.Or(c.Pending, pendingLimit())
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c, nil
}
