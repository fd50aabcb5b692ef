//go:build !linux

package offheap

import "errors"

// Segment is memory that other processes of this host can write to, which there is none of.
type Segment struct {
	Bytes []byte

	address Address
}

// NewSegment takes memory of n bytes that others can map.
func NewSegment(int) (*Segment, error) { return nil, errors.ErrUnsupported }

// WriteAt writes to the memory.
func (s *Segment) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

// Close gives the memory back.
func (s *Segment) Close() error { return nil }

// Window is a segment of another process, which there is none of.
type Window struct{}

// Open finds none.
func (a Address) Open() (*Window, error) { return nil, ErrNotThere }

// Adopt finds none.
func (a Address) Adopt() (*Segment, error) { return nil, ErrNotThere }

// Address is nowhere.
func (w *Window) Address() Address { return Address{} }

// Map makes the next writes faster.
func (w *Window) Map() error { return ErrNotThere }

// WriteAt writes to the memory.
func (w *Window) WriteAt([]byte, int64) (int, error) { return 0, ErrNotThere }

// ReadAt reads from the memory.
func (w *Window) ReadAt([]byte, int64) (int, error) { return 0, ErrNotThere }

// Valid reports that it is not there.
func (w *Window) Valid() error { return ErrNotThere }

// Mapped is nothing.
func (w *Window) Mapped() []byte { return nil }

// Close gives the window back.
func (w *Window) Close() error { return nil }

// Vicinity is a number that processes have in common which may map each other's segments. 0: this one cannot.
func Vicinity() int64 { return 0 }
