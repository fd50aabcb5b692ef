package replica

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
)

// resume agrees on the version that there is, brings its history to all who do not know it, and enters
// what has failed since.
func (s *Store) resume(ctx context.Context, c *comm.Comm, m meeting) error {
	number, from := m.newest()
	if number == 0 {
		s.settleOn(nil)
		return nil
	}
	v := s.holding(number)
	if m.differ(number, from) {
		var about []byte
		if int(c.Rank()) == from {
			about = v.describe()
		}
		about, err := comm.BcastBytes(ctx, c, comm.Rank(from), about)
		if err != nil {
			return err
		}
		if v, err = v.informed(about); err != nil {
			return err
		}
	}
	v.recognize(m, c)
	s.settleOn(v)
	if c.Rank() == 0 && len(v.layout.Lost) > 0 {
		s.options.Log.Warn("blocks are lost: all their copies were on ranks that have failed",
			"store", s.name, "version", number, "ranges", len(v.layout.Lost))
	}
	return nil
}

// newest is the newest version that is whole on all ranks which had the store before, 0 if there is
// none, and the lowest of the ranks that know most of its history.
func (m meeting) newest() (number uint64, from int) {
	from = -1
	for _, told := range m {
		for _, n := range []int64{told[introCurrent], told[introNext]} {
			if n > 0 && uint64(n) > number && m.allHave(n) {
				number = uint64(n)
			}
		}
	}
	for r := range m {
		if m.has(r, int64(number)) && (from < 0 || m.steps(r, number) > m.steps(from, number)) {
			from = r
		}
	}
	return number, from
}

// has reports whether a rank has its part of a version.
func (m meeting) has(r int, n int64) bool {
	return n > 0 && (m[r][introCurrent] == n || m[r][introNext] == n)
}

// allHave reports whether all ranks have theirs, but those that had no store before.
func (m meeting) allHave(n int64) bool {
	for r, told := range m {
		if told[introMet] > 0 && !m.has(r, n) {
			return false
		}
	}
	return true
}

// steps are those of a rank's history of a version. One that it does not know to be settled
// has none.
func (m meeting) steps(r int, number uint64) int64 {
	if m[r][introCurrent] == int64(number) {
		return m[r][introSteps]
	}
	return 0
}

// differ reports whether somebody does not know what a rank knows of a version.
func (m meeting) differ(number uint64, from int) bool {
	for r := range m {
		if !m.has(r, int64(number)) || m.steps(r, number) != m.steps(from, number) {
			return true
		}
	}
	return false
}

// holding is the version of a number that this rank has its part of; nil: none.
func (s *Store) holding(number uint64) *version {
	for _, v := range []*version{s.current, s.next} {
		if v != nil && v.number == number {
			return v
		}
	}
	return nil
}

// settleOn makes a version, or none, the one that there is.
func (s *Store) settleOn(v *version) {
	for _, other := range []*version{s.current, s.next} {
		if other != nil && other != v {
			other.free(s.mem)
		}
	}
	s.current, s.next = v, nil
	if v != nil {
		s.number = max(s.number, v.number)
	}
}

// description is what a rank that joins learns about a version.
type description struct {
	Number       uint64
	Consecutive  bool
	Probe        Probe
	Seed         uint64
	Nodes        []int
	Copies       int
	N, Per       int64
	Size         int
	Submitted    []Range // by slot
	Original     []comm.OriginalRank
	Incarnations []uint64
	History      history
}

func (v *version) describe() []byte {
	l := v.layout
	d := description{
		Number: v.number, Consecutive: l.pi == nil, Probe: l.probe.probe, Seed: l.probe.seed, Nodes: l.places.node, Copies: l.places.copies,
		N: l.geo.n, Per: l.geo.per, Size: l.geo.size,
		Original: v.original, Incarnations: v.incarnations, History: l.history,
	}
	for _, own := range l.geo.slots {
		d.Submitted = append(d.Submitted, Range{own.first, own.first + own.count})
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(d); err != nil {
		panic(fmt.Sprintf("replica: a description is not encoded: %v", err)) // of a type that can be
	}
	return b.Bytes()
}

// informed is the version with what another rank knows of it; a new one where this rank has none.
func (v *version) informed(about []byte) (*version, error) {
	var d description
	if err := gob.NewDecoder(bytes.NewReader(about)).Decode(&d); err != nil {
		return nil, fmt.Errorf("replica: what another rank says of the store is not understood: %w", err)
	}
	if v == nil {
		places, err := NewPlaces(d.Nodes, d.Copies, true)
		if err != nil {
			return nil, err
		}
		layout := newLayout(places, newGeometry(d.N, d.Size, d.Per, d.Submitted), Options{Consecutive: d.Consecutive, Probe: d.Probe, Seed: d.Seed})
		v = &version{number: d.Number, layout: layout, original: d.Original, copies: make(map[int64]*held)}
	}
	v.layout.history, v.incarnations = d.History, d.Incarnations
	return v, nil
}

// recognize enters which seats have failed, and who is in which seat now.
func (v *version) recognize(m meeting, c *comm.Comm) {
	var change seatChange
	v.ranks = make([]comm.Rank, len(v.original))
	v.seat = absent
	present := make(map[comm.OriginalRank]int, len(m))
	for r, told := range m {
		present[comm.OriginalRank(told[introOriginal])] = r
	}
	for i := range v.original {
		seat := Seat(i)
		r, there := present[v.original[seat]]
		if !there || v.layout.Gone[seat] > 0 { // who has the original rank of one that is gone has come later
			r = int(gone)
		}
		v.ranks[seat] = comm.Rank(r)
		switch {
		case r < 0 && v.layout.Gone[seat] == 0:
			change.Failed = append(change.Failed, seat)
		case r >= 0 && uint64(m[r][introIncarnation]) != v.incarnations[seat]:
			change.Failed = append(change.Failed, seat)
			change.Replaced = append(change.Replaced, seat)
			change.On = append(change.On, nodeOf(c, r))
			v.incarnations[seat] = uint64(m[r][introIncarnation])
		}
		if r == int(c.Rank()) {
			v.seat = seat
		}
	}
	if len(change.Failed) > 0 {
		v.layout.change(change)
	}
}

// nodeOf is the node of a rank, or its number where the engine does not say.
func nodeOf(c *comm.Comm, r int) int {
	if nodes := c.Nodes(); nodes != nil {
		return nodes[r]
	}
	return r
}
