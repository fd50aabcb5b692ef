package async

import "golang.org/x/sys/unix"

// advise asks for large pages: fewer faults when the memory is first touched.
func advise(p []byte) { _ = unix.Madvise(p, unix.MADV_HUGEPAGE) }
