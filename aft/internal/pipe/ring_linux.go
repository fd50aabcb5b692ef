package pipe

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// newRing makes shared memory; the file is to be passed on and closed.
func newRing(size int) (*ring, *os.File, error) {
	fd, err := unix.MemfdCreate("craft-pipe", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("memory for a pipe: %w", err)
	}
	f := os.NewFile(uintptr(fd), "craft-pipe")
	var r *ring
	err = unix.Ftruncate(fd, int64(os.Getpagesize()+size))
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err == nil {
		r, err = mapRing(fd, size)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("memory for a pipe of %d bytes: %w", size, err)
	}
	return r, f, nil
}

// openRing maps memory that another process has made. It must not be able to
// shrink: touching what is no longer there would kill this process.
func openRing(fd, size int) (*ring, error) {
	var st unix.Stat_t
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		return nil, fmt.Errorf("memory of a pipe: %w", err)
	}
	if got&seals != seals || st.Size != int64(os.Getpagesize()+size) {
		return nil, fmt.Errorf("%w: memory of %d bytes with seals %#x for a ring of %d", ErrBroken, st.Size, got, size)
	}
	return mapRing(fd, size)
}

func mapRing(fd, size int) (*ring, error) {
	page := uintptr(os.Getpagesize())
	n := uintptr(size)
	all := page + 2*n
	base, err := unix.MmapPtr(-1, 0, nil, all, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	fixed := func(at, offset, length uintptr) error {
		_, err := unix.MmapPtr(fd, int64(offset), unsafe.Add(base, at), length,
			unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
		return err
	}
	err = fixed(0, 0, page+n)
	if err == nil {
		err = fixed(page+n, page, n)
	}
	if err != nil {
		_ = unix.MunmapPtr(base, all)
		return nil, err
	}
	return &ring{board: (*board)(base), data: unsafe.Slice((*byte)(unsafe.Add(base, page)), 2*size), size: uint64(size)}, nil
}

// unmap gives the memory back; the ring must not be used any more.
func (r *ring) unmap() {
	if r.board != nil {
		_ = unix.MunmapPtr(unsafe.Pointer(r.board), uintptr(os.Getpagesize()+len(r.data)))
		*r = ring{}
	}
}
