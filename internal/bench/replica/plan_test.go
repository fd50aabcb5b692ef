package replica

import "math/rand/v2"

// transfer is bytes that one rank has and that another one, or the same, gets.
type transfer struct {
	from, to int
	src, dst int // where they are in the memory of both
	bytes    int
}

// plan are the transfers of an operation, in an order that all ranks know.
type plan []transfer

// add appends a transfer; what a rank gets is put one behind the other.
func (p *plan) add(room []int, from, to, src, bytes int) {
	if bytes > 0 {
		*p = append(*p, transfer{from, to, src, room[to], bytes})
		room[to] += bytes
	}
}

// memory is how much of it the transfers read and write, on the rank where that is most.
func (p plan) memory() (have, room int) {
	for _, t := range p {
		have, room = max(have, t.src+t.bytes), max(room, t.dst+t.bytes)
	}
	return have, room
}

// holder is the rank of copy k of what is in a slot (paper, section IV-A).
func holder(slot, k, ranks, copies int) int { return (slot + k*ranks/copies) % ranks }

// submitPlan are the copies of the data of all ranks, size bytes each: that of rank i is in slot i.
func submitPlan(ranks, copies, size int) (p plan) {
	room := make([]int, ranks)
	for from := range ranks {
		for k := range copies {
			p.add(room, from, holder(from, k, ranks, copies), 0, size)
		}
	}
	return p
}

// permutedPlan is the same with the data cut into ranges that are in slots at random: what a rank
// has in a slot is sent as one message for each copy.
func permutedPlan(rng *rand.Rand, ranks, copies, size, each int) (p plan) {
	own := (size + each - 1) / each
	pi := rng.Perm(ranks * own)
	room := make([]int, ranks)
	for from := range ranks {
		in := make([]int, ranks) // bytes in each slot
		for q := range own {
			in[pi[from*own+q]*ranks/len(pi)] += min(each, size-q*each)
		}
		src := 0
		for slot, bytes := range in {
			for k := range copies {
				p.add(room, from, holder(slot, k, ranks, copies), src, bytes)
			}
			src += bytes
		}
	}
	return p
}
