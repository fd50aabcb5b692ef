package replica

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget has the cache of the system forget a file that is synced.
func forget(f *os.File) error { return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
