package replica

import (
	"encoding/binary"
	"slices"
	"time"
)

// Operations are what the calls of one kind have cost this rank.
type Operations struct {
	Calls                          int
	Time                           time.Duration
	MessagesSent, MessagesReceived int64 // of data
	BytesSent, BytesReceived       int64
	BytesDirect                    int64 // written to, or read from, the memory of ranks of the same host, without a message
}

// Stats are about this rank, unless they say otherwise.
type Stats struct {
	Version uint64 // 0: there is none
	Blocks  int64  // of all ranks
	Copies  int    // that each is to have

	Memory     int64 // bytes that the store holds
	MemoryIdle int64 // of these, kept for the next version; the system may take them back, but for what others can write to
	MemoryPeak int64

	Sets        int     // different ones of ranks that hold the same blocks, of all ranks: repairs without replacements make more
	SharedNodes int64   // ranges of which two copies are on one node, of all ranks
	Missing     int64   // copies that there are too few, of all ranks: see Repair
	Lost        []Range // blocks without any copy

	Damaged, Mended int64 // copies that were not as they had been submitted, and those made anew

	Submit, Load, Repair Operations
}

// statistics are what is counted.
type statistics struct {
	submitted, loaded, repaired Operations
	damaged, mended             int64
}

// Stats returns what the store is like now. It looks at each range that failures have touched.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{Submit: s.stats.submitted, Load: s.stats.loaded, Repair: s.stats.repaired, Damaged: s.stats.damaged, Mended: s.stats.mended}
	st.Memory, st.MemoryIdle, st.MemoryPeak = s.mem.use()
	v := s.current
	if v == nil {
		return st
	}
	l := v.layout
	st.Version, st.Blocks, st.Copies, st.Lost = v.number, l.geo.n, l.places.copies, l.lostBlocks()
	sets := make(seatSets)
	for slot := range l.places.Seats() {
		s := Slot(slot)
		if l.isTouched(s) {
			l.InSlot(s, func(q int64) { l.inspect(q, &st, sets) })
			continue
		}
		if l.places.sharedAt(s) {
			l.InSlot(s, func(int64) { st.SharedNodes++ })
		}
		sets.add(l.places.Holders(s))
	}
	st.Sets = len(sets)
	return st
}

// seatSets are different sets of seats.
type seatSets map[string]bool

func (s seatSets) add(seats []Seat) {
	slices.Sort(seats)
	var key []byte
	for _, seat := range seats {
		key = binary.AppendUvarint(key, uint64(seat))
	}
	if !s[string(key)] {
		s[string(key)] = true
	}
}

// inspect counts a range that failures have touched.
func (l *layout) inspect(q int64, st *Stats, sets seatSets) {
	if holders := l.holders(q); len(holders) > 0 && !l.isLost(q) {
		sets.add(holders)
	}
	at := l.copies(nil, q)
	nodes := make(map[int]bool)
	live := 0
	for _, c := range at {
		if c.seat != absent {
			nodes[l.nodeAt(c.seat, l.Changes)] = true
			live++
		}
		if !l.holds(c) && !l.isLost(q) {
			st.Missing++
		}
	}
	if len(nodes) < live {
		st.SharedNodes++
	}
}
