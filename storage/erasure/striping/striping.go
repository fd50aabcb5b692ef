// Package striping says who of a set of ranks holds the parity of which stripe, and which
// losses that survives: numbers alone, for whoever has to know what can be rebuilt without
// rebuilding it. Package erasure does that.
package striping

// Turn is the place of a member in a stripe of a set: first the holders of parity, then
// those of data. It moves on by one member from stripe to stripe.
func Turn(members int, stripe int64, member int) int {
	turn := member - int(stripe%int64(members))
	if turn < 0 {
		turn += members
	}
	return turn
}

// Recoverable reports whether all parts of a set can be rebuilt, whatever their sizes, by
// which of the parts and of the parity files are there, by member. Each stripe has so
// many parities.
func Recoverable(parities int, part, parity []bool) bool {
	for residue := range part {
		if Missing(int64(residue), parities, part, parity) > parities {
			return false
		}
	}
	return true
}

// Missing returns how many blocks of a stripe are not there.
func Missing(stripe int64, parities int, part, parity []bool) (n int) {
	for member := range part {
		there := part[member]
		if Turn(len(part), stripe, member) < parities {
			there = parity[member]
		}
		if !there {
			n++
		}
	}
	return n
}
