package erasure

import (
	"fmt"

	"github.com/craft-go/craft/storage/erasure/striping"
)

const (
	maxMembers = 256      // the field of the code has no more elements
	maxBlock   = 64 << 20 // bounds what a reader allocates
	maxSize    = 1 << 50  // of a part: keeps all sums far from overflow
)

// Layout says how the parts of a set are cut into stripes.
type Layout struct {
	Members int // of the set: 2 to 256
	Parity  int // blocks of parity in each stripe: 1 to Members-1
	Block   int // bytes of a block: 1 to 64 MiB
}

// Validate returns an error that matches ErrInvalid if there is no such layout.
func (l Layout) Validate() error {
	if p := l.problem(); p != "" {
		return invalidf("layout: %s", p)
	}
	return nil
}

func (l Layout) problem() string {
	switch {
	case l.Members < 2 || l.Members > maxMembers:
		return fmt.Sprintf("%d members (allowed: 2 to %d)", l.Members, maxMembers)
	case l.Parity < 1 || l.Parity >= l.Members:
		return fmt.Sprintf("%d parities of %d members (allowed: 1 to %d)", l.Parity, l.Members, l.Members-1)
	case l.Block < 1 || l.Block > maxBlock:
		return fmt.Sprintf("blocks of %d bytes (allowed: 1 to %d)", l.Block, maxBlock)
	}
	return ""
}

// Data returns the number of blocks of data in a stripe.
func (l Layout) Data() int { return l.Members - l.Parity }

func (l Layout) turn(stripe int64, member int) int { return striping.Turn(l.Members, stripe, member) }

// Row returns which parity of a stripe the member holds; not ok: it gives data.
func (l Layout) Row(stripe int64, member int) (row int, ok bool) {
	row = l.turn(stripe, member)
	return row, row < l.Parity
}

// Column returns the place of the member's data among the data of a stripe; not
// ok: it holds parity.
func (l Layout) Column(stripe int64, member int) (column int, ok bool) {
	column = l.turn(stripe, member) - l.Parity
	return column, column >= 0
}

// Holder returns the member that holds a parity of a stripe.
func (l Layout) Holder(stripe int64, row int) int {
	return int((stripe + int64(row)) % int64(l.Members))
}

// Giver returns the member whose data is in a column of a stripe. Behind the columns come
// the holders, row by row: all shards, as the library counts them.
func (l Layout) Giver(stripe int64, column int) int { return l.Holder(stripe, l.Parity+column) }

// Stripe returns the stripe that a block of a member's part is in.
func (l Layout) Stripe(member int, block int64) int64 {
	k := int64(l.Data())
	period, i := block/k, int(block%k)
	switch first := member - l.Parity + 1; {
	case first < 0: // parity up to member, and again at the end of the period
		i += member + 1
	case i >= first:
		i += l.Parity
	}
	return period*int64(l.Members) + int64(i)
}

// BlockOf returns the block of a member's part that is in a stripe; not ok: the
// member holds parity there.
func (l Layout) BlockOf(member int, stripe int64) (block int64, ok bool) {
	if l.turn(stripe, member) < l.Parity {
		return 0, false
	}
	period, i := stripe/int64(l.Members), int(stripe%int64(l.Members))
	switch first := member - l.Parity + 1; {
	case first < 0:
		i -= member + 1
	case i > member:
		i -= l.Parity
	}
	return period*int64(l.Data()) + int64(i), true
}

// ParityStripe returns the stripe of the n-th parity block that a member holds,
// counted from 0. Some may be empty: see Plan.
func (l Layout) ParityStripe(member int, n int64) int64 {
	period, i := n/int64(l.Parity), int(n%int64(l.Parity))
	switch first := member - l.Parity + 1; {
	case first >= 0:
		i += first
	case i > member:
		i += l.Data()
	}
	return period*int64(l.Members) + int64(i)
}

// share returns how many bytes of a giver's part of the given size are in stripes
// of which the holder has parity.
func (l Layout) share(giver, holder int, size int64) int64 {
	n, k := int64(0), l.Data()
	whole, rest := size/int64(l.Block), size%int64(l.Block)
	for i := range k { // the holder has each k-th block, or none of these
		if _, holds := l.Row(l.Stripe(giver, int64(i)), holder); !holds {
			continue
		}
		n += upTo(whole, i, k) * int64(l.Block)
		if whole%int64(k) == int64(i) {
			n += rest
		}
	}
	return n
}
