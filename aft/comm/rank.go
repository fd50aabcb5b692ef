package comm

import "fmt"

// OriginalRank numbers a process in the job's first communicator. It stays with
// the process, and with the one that replaces it, while its Rank may change in
// every repair.
type OriginalRank int

// CheckSend tells whether dst and tag can be sent to on c. Engines call it
// first in Isend; reserved tags pass.
func CheckSend(c Comm, dst Rank, tag Tag) error {
	if err := checkRank(c, dst); err != nil {
		return err
	}
	if tag == AnyTag {
		return fmt.Errorf("%w: AnyTag (%d) can only be received", ErrTag, tag)
	}
	return nil
}

// CheckRecv tells whether src can be received from on c. Engines call it first
// in Irecv; reserved tags pass.
func CheckRecv(c Comm, src Rank, _ Tag) error {
	if src == AnySource {
		return nil
	}
	return checkRank(c, src)
}

func checkRank(c Comm, r Rank) error {
	if n := c.Size(); r < 0 || int(r) >= n {
		return fmt.Errorf("%w: %d, allowed are 0 to %d", ErrRank, r, n-1)
	}
	return nil
}
