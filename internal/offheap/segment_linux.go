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
	tokenBytes  = 8
)

// Segment is memory that other processes of this host can write to, too. What is written is there
// for both. It does not shrink, so touching it never fails.
type Segment struct {
	Bytes []byte

	all     []byte // with the token behind
	fd      int
	address Address
}

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
	if err := withinLimit(int64(all)); err != nil {
		return nil, err
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
	if err := leavesDescriptors(fd); err != nil {
		return nil, err
	}
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
	binary.LittleEndian.PutUint64(b[all-tokenBytes:], uint64(s.address.Token))
	return s, nil
}

// withinLimit returns an error for a size beyond the limit on that of files: it ends a process that goes there.
func withinLimit(size int64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil || limit.Cur < uint64(size) {
		return errors.Join(fmt.Errorf("%d bytes, RLIMIT_FSIZE is %d", size, limit.Cur), err)
	}
	return nil
}

// leavesDescriptors returns an error if a descriptor is one of the last that the process may have, a quarter: there is
// another way for memory, and none for files and connections.
func leavesDescriptors(fd int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < uint64(fd)+max(limit.Cur/4, 16) {
		return errors.Join(fmt.Errorf("descriptor %d, RLIMIT_NOFILE is %d", fd, limit.Cur), err)
	}
	return nil
}

// WriteAt writes to the memory as to a file: the first time that is faster than touching its pages.
func (s *Segment) WriteAt(b []byte, at int64) (n int, err error) {
	for n < len(b) && err == nil {
		var k int
		if k, err = unix.Pwrite(s.fd, b[n:], at+int64(n)); errors.Is(err, unix.EINTR) {
			err = nil
		}
		n += max(k, 0)
	}
	return n, err
}

// Close gives the memory back, at once: others that have opened it find zeros, and nobody finds it any more. The token
// goes first, so that who has read zeros learns it (Window.Valid).
func (s *Segment) Close() error {
	all := s.all
	s.all, s.Bytes = nil, nil
	_, token := s.WriteAt(make([]byte, tokenBytes), int64(len(all)-tokenBytes))
	hole := unix.Fallocate(s.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, int64(len(all)))
	return errors.Join(token, hole, unix.Munmap(all), unix.Close(s.fd))
}

// Window is a segment of another process, as this one reads and writes it. The memory is taken up by writing to it as to
// a file, which is faster than touching its pages for the first time; from then on it is better mapped.
type Window struct {
	file    *os.File
	address Address
	bytes   []byte // nil: it is not mapped
}

// Open finds the segment of another process of this host.
func (a Address) Open() (*Window, error) {
	path := fmt.Sprintf("/proc/%d/fd/%d", a.PID, a.FD)
	if name, err := os.Readlink(path); err != nil || name != "/memfd:"+segmentName+" (deleted)" {
		return nil, fmt.Errorf("%w: %s is %q: %w", ErrNotThere, path, name, err)
	}
	if err := withinLimit(a.Size); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotThere, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotThere, err)
	}
	if err := errors.Join(leavesDescriptors(int(f.Fd())), a.check(f)); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrNotThere, path, err), f.Close())
	}
	return &Window{file: f, address: a}, nil
}

// Adopt makes a segment that another process of this host has left this process's own. That one must not use it
// any more.
func (a Address) Adopt() (*Segment, error) {
	w, err := a.Open()
	if err != nil {
		return nil, err
	}
	fd, err := unix.FcntlInt(w.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err = errors.Join(err, w.Map()); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrNotThere, err), w.Close())
	}
	s := &Segment{all: w.bytes, fd: fd, address: a.here(fd)}
	s.Bytes = s.all[: a.Size-int64(os.Getpagesize()) : a.Size-int64(os.Getpagesize())]
	w.bytes = nil
	return s, w.Close()
}

// here is where the segment is found by a descriptor of this process.
func (a Address) here(fd int) Address {
	a.PID, a.FD = int64(os.Getpid()), int64(fd)
	return a
}

// Address is where others find the segment as long as the window is open, whether its owner has ended or not.
func (w *Window) Address() Address { return w.address.here(int(w.file.Fd())) }

// check returns an error if a file is not the segment.
func (a Address) check(f *os.File) error {
	got, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if got&seals != seals || st.Size() != a.Size {
		return fmt.Errorf("%d bytes and seals %#x", st.Size(), got)
	}
	return a.checkToken(f)
}

func (a Address) checkToken(f *os.File) error {
	var token [tokenBytes]byte
	if _, err := f.ReadAt(token[:], a.Size-tokenBytes); err != nil {
		return err
	}
	if binary.LittleEndian.Uint64(token[:]) != uint64(a.Token) {
		return errors.New("another token")
	}
	return nil
}

// Map makes the next writes faster. After an error they are as before.
func (w *Window) Map() error {
	if w.bytes != nil {
		return nil
	}
	b, err := unix.Mmap(int(w.file.Fd()), 0, int(w.address.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	w.bytes = b
	return nil
}

// WriteAt writes to the memory.
func (w *Window) WriteAt(b []byte, at int64) (n int, err error) {
	if w.bytes != nil {
		return copy(w.bytes[at:], b), nil
	}
	return w.file.WriteAt(b, at)
}

// ReadAt reads from the memory, as from a file: the pages of a mapping that this process has not touched would take
// longer.
func (w *Window) ReadAt(b []byte, at int64) (n int, err error) { return w.file.ReadAt(b, at) }

// Valid returns ErrNotThere if its owner has closed the segment: what was read before may be zeros.
func (w *Window) Valid() error {
	if err := w.address.checkToken(w.file); err != nil {
		return fmt.Errorf("%w: %w", ErrNotThere, err)
	}
	return nil
}

// Mapped is the memory as Map has mapped it; nil if it has not. Who reads the same places again and again reads it
// fastest.
func (w *Window) Mapped() []byte { return w.bytes }

// Close gives the window back.
func (w *Window) Close() error {
	err := w.file.Close()
	if b := w.bytes; b != nil {
		w.bytes = nil
		err = errors.Join(err, unix.Munmap(b))
	}
	return err
}

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
	w, err := s.Address().Open()
	if err == nil {
		err = w.Close()
	}
	if errors.Join(err, s.Close()) != nil {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprint(h, string(boot), space)
	return int64(h.Sum64()>>1) | 1
}
