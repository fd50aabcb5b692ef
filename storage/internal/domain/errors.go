package domain

import (
	"errors"
	"fmt"
)

var (
	// ErrTooFewNodes is matched by every error that says that the nodes of the
	// job do not suffice for the protection that was asked for.
	ErrTooFewNodes = errors.New("too few nodes")

	// ErrInvalid is returned for numbers that make no sense.
	ErrInvalid = errors.New("invalid argument")
)

// PartnerError says that there is no other node to keep copies on. It matches
// ErrTooFewNodes.
type PartnerError struct {
	Ranks int // all of them on one node
}

func (e *PartnerError) Error() string {
	return fmt.Sprintf("no partners: all %d ranks are on one node, copies need at least 2 nodes", e.Ranks)
}

// Is makes a PartnerError match ErrTooFewNodes.
func (e *PartnerError) Is(target error) bool { return target == ErrTooFewNodes }

// SetsError says that ranks cannot be put into sets with so many parities, and
// what is possible. It matches ErrTooFewNodes.
type SetsError struct {
	Ranks, Nodes int
	Crowded      int // ranks on the node that has the most
	Parity       int // what was asked for
	Possible     int // the most parities that these places allow; 0: no sets at all
}

func (e *SetsError) Error() string {
	why := fmt.Sprintf("%d parities need sets of %d members on as many nodes, but of %d ranks on %d nodes, %d of them on one node, the smallest set gets no more than %d",
		e.Parity, e.Parity+1, e.Ranks, e.Nodes, e.Crowded, e.Possible+1)
	if e.Possible == 0 {
		return "no sets: " + why + "; with these places parity is not possible"
	}
	return fmt.Sprintf("no sets: %s; with these places up to %d parities are possible", why, e.Possible)
}

// Is makes a SetsError match ErrTooFewNodes.
func (e *SetsError) Is(target error) bool { return target == ErrTooFewNodes }
