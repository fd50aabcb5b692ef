package offheap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"
)

const (
	seals       = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	segmentName = "craft-memory"
)

// NewSegment takes memory of n bytes. It is zero and takes up room where it is touched.
func NewSegment(n int) (*Segment, error) {
	page := os.Getpagesize()
	s, err := newSegment((n+page-1)/page*page + page)
	if err != nil {
		return nil, fmt.Errorf("memory of %d bytes for several processes: %w", n, err)
	}
	s.Bytes = s.all[:n:n]
	return s, nil
}

func newSegment(all int) (s *Segment, err error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil || limit.Cur < uint64(all) {
		return nil, errors.Join(errors.New("RLIMIT_FSIZE"), err) // what is beyond it ends the process
	}
	fd, err := unix.MemfdCreate(segmentName, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, unix.Close(fd))
		}
	}()
	if err := unix.Ftruncate(fd, int64(all)); err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(fd, 0, all, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	s = &Segment{all: b, fd: fd, address: Address{PID: int64(os.Getpid()), FD: int64(fd), Size: int64(all), Token: rand.Int64()}}
	binary.LittleEndian.PutUint64(b[all-8:], uint64(s.address.Token))
	return s, nil
}

// Close gives the memory back, at once: others that have mapped it find zeros, and nobody finds it any more.
func (s *Segment) Close() error {
	all := s.all
	s.all, s.Bytes = nil, nil
	hole := unix.Fallocate(s.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, int64(len(all)))
	return errors.Join(hole, unix.Munmap(all), unix.Close(s.fd))
}

// Map maps a segment of another process of this host; Unmap gives it back.
func (a Address) Map() (bytes []byte, err error) {
	path := fmt.Sprintf("/proc/%d/fd/%d", a.PID, a.FD)
	if name, err := os.Readlink(path); err != nil || name != "/memfd:"+segmentName+" (deleted)" {
		return nil, fmt.Errorf("%w: %s is %q: %w", ErrNotThere, path, name, err)
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNotThere, path, err)
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	var st unix.Stat_t
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil || got&seals != seals || st.Size != a.Size {
		return nil, fmt.Errorf("%w: %s has %d bytes and seals %#x: %w", ErrNotThere, path, st.Size, got, err)
	}
	b, err := unix.Mmap(fd, 0, int(a.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNotThere, path, err)
	}
	if binary.LittleEndian.Uint64(b[len(b)-8:]) != uint64(a.Token) {
		return nil, errors.Join(ErrNotThere, unix.Munmap(b))
	}
	return b, nil
}

// Unmap gives back what Map has returned.
func Unmap(b []byte) error { return unix.Munmap(b) }

// Vicinity is a number that processes have in common which may map each other's segments: those of a host
// that see each other in /proc. 0: this one cannot.
func Vicinity() int64 {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return 0
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return 0
	}
	s, err := NewSegment(1)
	if err != nil {
		return 0
	}
	b, err := s.Address().Map()
	if err == nil {
		err = Unmap(b)
	}
	if errors.Join(err, s.Close()) != nil {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprint(h, string(boot), space)
	return int64(h.Sum64()>>1) | 1
}
