package replica

import "slices"

// seatChange is what a recovery has done to the seats of a version.
type seatChange struct {
	// Failed are the seats whose processes were lost, with the copies in them.
	Failed []Seat
	// Replaced are those of them that a new process has taken over, on the nodes of the same index in On.
	Replaced []Seat
	On       []int
}

// layout says where the copies of the ranges of a version are: a pure function of the places, the
// ranges and the changes since it was submitted. It takes O(r+f) time for a range, and memory for
// each seat and change only.
//
// A replacement has the places of the process that it replaces. Without one, a lost copy goes to the
// next seat of the range's sequence (Probe) that lives on a node without a copy; where there is
// none, to the next one that lives. Copies on seats that live never move.
type layout struct {
	places *Places
	geo    *geometry
	pi     *permutation // nil: ranges are in the slot of their submitter
	probe  prober

	history
}

// history is what has happened to a version since it was submitted.
type history struct {
	Changes int
	Gone    []int         // of each seat: the change that took it for good; 0: it lives
	Renewed []int         // the last change in which it was replaced
	Filled  []int         // the change up to which it has got what its copies are
	Homes   [][]residence // the nodes that it has been on
	Living  []int         // nodes with a seat that lived after each change
	Lost    []int64       // ranges of which no copy is left, ascending
	Steps   int           // changes and repairs: of two histories of a version the one with more goes on from the other
}

// residence is the node that a seat is on from a change on.
type residence struct{ Since, Node int }

// absent is in the place of a seat where no seat is left that could hold a copy.
const absent Seat = -1

func newLayout(places *Places, geo *geometry, o Options) *layout {
	seats := places.Seats()
	l := &layout{
		places: places, geo: geo, probe: newProber(o.Probe, seats, o.Seed),
		history: history{Gone: make([]int, seats), Renewed: make([]int, seats), Filled: make([]int, seats), Homes: make([][]residence, seats)},
	}
	for seat, node := range places.node {
		l.Homes[seat] = []residence{{0, node}}
	}
	if !o.Consecutive {
		pi := newPermutation(uint64(geo.ranges()), o.Seed)
		l.pi = &pi
	}
	l.Living = []int{l.livingNodes()}
	return l
}

// nodeAt is the node of a seat after a change.
func (l *layout) nodeAt(s Seat, change int) int {
	homes := l.Homes[s]
	for len(homes) > 1 && homes[len(homes)-1].Since > change {
		homes = homes[:len(homes)-1]
	}
	return homes[len(homes)-1].Node
}

func (l *layout) livingNodes() int {
	living := make(map[int]bool)
	for seat, gone := range l.Gone {
		if gone == 0 {
			living[l.nodeAt(Seat(seat), l.Changes)] = true
		}
	}
	return len(living)
}

// Slot is the slot that a range is in: floor(pi(q)*p/R).
func (l *layout) Slot(q int64) Slot {
	if l.pi == nil {
		return l.geo.submitter(q)
	}
	return Slot(int64(l.pi.at(uint64(q))) * int64(l.places.Seats()) / l.geo.ranges())
}

// InSlot calls yield for each range of a slot.
func (l *layout) InSlot(s Slot, yield func(q int64)) {
	from, to := l.geo.own(s)
	if l.pi != nil {
		share := Even(l.geo.ranges(), l.places.Seats(), int(s))
		from, to = share.Lo, share.Hi
	}
	for v := from; v < to; v++ {
		if l.pi == nil {
			yield(v)
		} else {
			yield(int64(l.pi.of(uint64(v))))
		}
	}
}

// livesAt reports whether a seat has a process after a change.
func (l *layout) livesAt(s Seat, change int) bool { return l.Gone[s] == 0 || l.Gone[s] > change }

// copyAt is where a copy is, and since which change.
type copyAt struct {
	seat  Seat // absent: nowhere
	since int
}

// copies are the places of the copies of a range after all changes, appended to at. They
// need not be filled: see holds.
func (l *layout) copies(at []copyAt, q int64) []copyAt {
	s := l.Slot(q)
	for k := range l.places.copies {
		at = append(at, copyAt{seat: l.places.Copy(s, k)})
	}
	if l.Changes == 0 {
		return at
	}
	var next func(uint64) Seat
	var probes uint64
	for {
		k := l.firstGone(at)
		if k < 0 {
			return at
		}
		if next == nil {
			next = l.probe.sequence(q)
		}
		change := l.Gone[at[k].seat]
		at[k] = copyAt{seat: l.move(at, next, &probes, change), since: change}
	}
}

// firstGone is the copy whose seat has gone first; -1: all live.
func (l *layout) firstGone(at []copyAt) int {
	first := -1
	for k, c := range at {
		if c.seat != absent && l.Gone[c.seat] > 0 && (first < 0 || l.Gone[c.seat] < l.Gone[at[first].seat]) {
			first = k
		}
	}
	return first
}

// move is the seat that takes a copy over in a change.
func (l *layout) move(at []copyAt, next func(uint64) Seat, probes *uint64, change int) Seat {
	apart := l.nodesOf(at, change) < l.Living[change]
	for range l.places.Seats() {
		seat := next(*probes)
		*probes++
		if l.livesAt(seat, change) && !l.taken(at, seat, change, apart) {
			return seat
		}
	}
	return absent
}

// nodesOf counts the nodes on which copies live after a change.
func (l *layout) nodesOf(at []copyAt, change int) (n int) {
	for k, c := range at {
		if c.seat != absent && l.livesAt(c.seat, change) && !l.taken(at[:k], c.seat, change, true) {
			n++
		}
	}
	return n
}

// taken reports whether one of some copies lives on a seat or, apart, on its node.
func (l *layout) taken(at []copyAt, seat Seat, change int, apart bool) bool {
	return slices.ContainsFunc(at, func(c copyAt) bool {
		return c.seat != absent && l.livesAt(c.seat, change) &&
			(c.seat == seat || apart && l.nodeAt(c.seat, change) == l.nodeAt(seat, change))
	})
}

// holds reports whether the copy has got there.
func (l *layout) holds(c copyAt) bool {
	return c.seat != absent && l.Filled[c.seat] >= max(c.since, l.Renewed[c.seat])
}

// holders are the seats that have a copy of a range.
func (l *layout) holders(q int64) (seats []Seat) {
	var room [8]copyAt
	for _, c := range l.copies(room[:0], q) {
		if l.holds(c) {
			seats = append(seats, c.seat)
		}
	}
	return seats
}

// change enters what a recovery has done, and which ranges are lost by it.
func (l *layout) change(c seatChange) {
	l.Changes++
	l.Steps++
	for _, seat := range c.Failed {
		i := slices.Index(c.Replaced, seat)
		if i < 0 {
			l.Gone[seat] = l.Changes
			continue
		}
		l.Renewed[seat] = l.Changes
		if c.On[i] != l.nodeAt(seat, l.Changes) {
			l.Homes[seat] = append(l.Homes[seat], residence{l.Changes, c.On[i]})
		}
	}
	l.Living = append(l.Living, l.livingNodes())
	var lost []int64
	l.touched(func(q int64) {
		if len(l.holders(q)) == 0 {
			lost = append(lost, q)
		}
	})
	l.lose(lost)
}

// lose notes that no copy of some ranges is left.
func (l *layout) lose(ranges []int64) {
	l.Lost = append(l.Lost, ranges...)
	slices.Sort(l.Lost)
	l.Lost = slices.Compact(l.Lost)
}

// isLost reports whether no copy of a range is left.
func (l *layout) isLost(q int64) bool {
	_, lost := slices.BinarySearch(l.Lost, q)
	return lost
}

// touched calls yield for each range of which a copy was on a seat that has failed since
// the version was submitted: no other one has moved or lost anything.
func (l *layout) touched(yield func(q int64)) {
	for s := range l.places.Seats() {
		if l.isTouched(Slot(s)) {
			l.InSlot(Slot(s), yield)
		}
	}
}

// isTouched reports whether a seat of a slot's copies has failed since the version was submitted.
func (l *layout) isTouched(s Slot) bool {
	return slices.ContainsFunc(l.places.Holders(s), func(seat Seat) bool { return l.Gone[seat]+l.Renewed[seat] > 0 })
}

// fill notes that all seats that live have got what they are to have.
func (l *layout) fill() {
	l.Steps++
	for seat := range l.Filled {
		l.Filled[seat] = l.Changes
	}
}

// lostBlocks are those of the ranges of which no copy is left.
func (l *layout) lostBlocks() []Range {
	var out []Range
	for _, q := range l.Lost {
		out = append(out, l.geo.blocks(q))
	}
	return merge(out)
}
