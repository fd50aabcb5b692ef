package offheap

import "errors"

// Address is where other processes of this host find a segment, as long as it is not closed.
type Address struct {
	PID, FD, Size int64
	Token         int64 // that is in it, so that nothing else is taken for it
}

// IsZero reports whether it is nowhere.
func (a Address) IsZero() bool { return a == Address{} }

// Address is where others find it.
func (s *Segment) Address() Address { return s.address }

// ErrNotThere is returned by Open for a segment that is not where its address says, or not for this process.
var ErrNotThere = errors.New("offheap: the memory of another process is not within reach")
