package erasure

import "github.com/craft-go/craft/storage/erasure/striping"

// recipe knows which blocks of which members give a lost part back. It reads nothing.
type recipe struct {
	code               *Code
	plan               *Plan
	lost               int    // member
	hasPart, hasParity []bool // by member: which files are left
}

// size returns how many bytes the lost part has.
func (r *recipe) size() int64 { return r.plan.sizes[r.lost] }

// blocks returns how many blocks it has.
func (r *recipe) blocks() int64 { return (r.size() + int64(r.plan.Block) - 1) / int64(r.plan.Block) }

// appendMissing appends to dst the members whose block of a stripe is not there. One without
// bytes needs no file.
func (r *recipe) appendMissing(dst []int, stripe int64) []int {
	for member, there := range r.hasPart {
		if _, holds := r.plan.Row(stripe, member); holds {
			there = r.hasParity[member]
		}
		if !there && r.blockLen(stripe, member) > 0 {
			dst = append(dst, member)
		}
	}
	return dst
}

// blockLen returns the length of a member's block of a stripe, of data or of parity.
func (r *recipe) blockLen(stripe int64, member int) int {
	if _, holds := r.plan.Row(stripe, member); holds {
		return r.plan.StripeLen(stripe)
	}
	return r.plan.DataLen(stripe, member)
}

// lacks returns how many members more are lost than parity brings back, in those
// stripes of the lost part that lack most.
func (r *recipe) lacks() int {
	l, worst := r.plan.Layout, 0
	for residue := range int64(l.Members) {
		if _, gives := l.Column(residue, r.lost); gives {
			worst = max(worst, striping.Missing(residue, l.Parity, r.hasPart, r.hasParity))
		}
	}
	return worst - l.Parity
}
