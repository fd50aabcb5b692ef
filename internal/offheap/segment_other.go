//go:build !linux

package offheap

import "errors"

// NewSegment takes memory of n bytes that others can map.
func NewSegment(int) (*Segment, error) { return nil, errors.ErrUnsupported }

// Close gives the memory back.
func (s *Segment) Close() error { return nil }

// Map maps a segment of another process, which there is none of.
func (a Address) Map() ([]byte, error) { return nil, ErrNotThere }

// Unmap gives back what Map has returned.
func Unmap([]byte) error { return nil }

// Vicinity is a number that processes have in common which may map each other's segments. 0: this one cannot.
func Vicinity() int64 { return 0 }
