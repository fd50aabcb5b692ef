package replica

import (
	"cmp"
	"fmt"
	"slices"
)

// Workload is data that is submitted, as much by each rank, and how it is kept.
type Workload struct {
	Ranks       int
	Copies      int
	Bytes       int64 // of each rank
	BlockBytes  int   // 0: 64
	RangeBytes  int   // 0: 256 KiB
	Consecutive bool  // no permutation of the ranges
	Probe       Probe
	Seed        uint64
}

// Costs are those of operations on a workload, in the real placement on nodes of equal sizes and by
// the model of a network. Nothing is sent.
type Costs struct {
	work    Workload
	network Network
	places  *Places
	geo     *geometry
	layout  *layout
}

// NewCosts makes the placement of a workload.
func NewCosts(w Workload, n Network) (*Costs, error) {
	w.BlockBytes, w.RangeBytes = cmp.Or(w.BlockBytes, 64), cmp.Or(w.RangeBytes, DefaultRangeBytes)
	if err := n.check(); err != nil {
		return nil, err
	}
	if w.Ranks < 1 || w.BlockBytes < 1 || w.RangeBytes < w.BlockBytes || w.Bytes < int64(w.BlockBytes) {
		return nil, fmt.Errorf("%w: %d bytes in blocks of %d and ranges of %d bytes on each of %d ranks: each rank has a block, and each range",
			ErrOptions, w.Bytes, w.BlockBytes, w.RangeBytes, w.Ranks)
	}
	nodes := make([]int, w.Ranks)
	for i := range nodes {
		nodes[i] = i / n.RanksPerNode
	}
	places, err := NewPlaces(nodes, w.Copies, true)
	if err != nil {
		return nil, err
	}
	c := &Costs{work: w, network: n, places: places}
	submitted := make([]Range, w.Ranks)
	for seat := range w.Ranks {
		submitted[places.Slot(Seat(seat))] = c.submitted(Seat(seat))
	}
	c.geo = newGeometry(int64(w.Ranks)*c.blocks(), w.BlockBytes, int64(w.RangeBytes/w.BlockBytes), submitted)
	c.layout = c.newLayout()
	return c, nil
}

func (c *Costs) newLayout() *layout {
	return newLayout(c.places, c.geo, Options{Copies: c.work.Copies, RangeBytes: c.work.RangeBytes, Consecutive: c.work.Consecutive, Probe: c.work.Probe, Seed: c.work.Seed})
}

// After returns the costs when some ranks have failed and nothing is repaired.
func (c *Costs) After(failed ...Seat) *Costs {
	after := *c
	after.layout = c.newLayout()
	after.layout.change(seatChange{Failed: failed})
	return &after
}

// blocks are those of each rank.
func (c *Costs) blocks() int64 { return c.work.Bytes / int64(c.work.BlockBytes) }

// submitted are the blocks of a rank.
func (c *Costs) submitted(s Seat) Range {
	return Range{int64(s) * c.blocks(), (int64(s) + 1) * c.blocks()}
}

// Memory is what the copies take on a rank that holds most: about r*n*b/p. While the next version
// is submitted it is needed twice.
func (c *Costs) Memory() (bytes int64) {
	held := make([]int64, c.work.Ranks)
	for s := range c.work.Ranks {
		var slot int64
		c.layout.InSlot(Slot(s), func(q int64) { slot += int64(c.geo.bytes(q)) })
		for k := range c.work.Copies {
			held[c.places.Copy(Slot(s), k)] += slot
		}
	}
	return slices.Max(held)
}

// Submit is the cost of submitting all of it.
func (c *Costs) Submit() Cost {
	t := newTally(c.work.Ranks, c.network)
	for s := range c.work.Ranks {
		owner := c.places.Owner(Slot(s))
		for q, end := c.geo.own(Slot(s)); q < end; q++ {
			slot, bytes := c.layout.Slot(q), int64(c.geo.bytes(q))
			for k := range c.work.Copies {
				to := c.places.Copy(slot, k)
				t.move(owner, to, bytes, t.meets(owner, to))
			}
		}
	}
	return t.cost(1)
}

// Load is the cost of loading blocks: wanted are those of each rank. What is lost is not loaded.
func (c *Costs) Load(wanted func(Seat) []Range) Cost {
	t := newTally(c.work.Ranks, c.network)
	for rank := range c.work.Ranks {
		to := Seat(rank)
		for _, r := range wanted(to) {
			c.geo.pieces(r, func(p piece) {
				if holders := c.layout.holders(p.q); len(holders) > 0 {
					from := c.source(to, holders)
					t.move(from, to, p.blocks.Len()*int64(c.work.BlockBytes), t.meets(to, from))
				}
			})
		}
	}
	return t.cost(2)
}

// source is the holder that a rank takes a range from: itself, else one that is drawn by the set of
// holders, so that all that these have comes from one (IV-A), as Store does.
func (c *Costs) source(to Seat, holders []Seat) Seat {
	if slices.Contains(holders, to) {
		return to
	}
	return serves(holders, int(to), c.work.Ranks)
}

// LoadShare is the cost of loading what the first ranks have submitted, a share of all data,
// scattered evenly over all ranks (the paper's load 1 %).
func (c *Costs) LoadShare(share float64) Cost {
	lost := []Range{{0, int64(share * float64(c.geo.n))}}
	return c.Load(func(s Seat) []Range { return Split(lost, c.work.Ranks, int(s)) })
}

// LoadAll is the cost of loading all data, when each rank loads what another one has submitted
// which, without permutation, has no copy there.
func (c *Costs) LoadAll() Cost {
	shift := max(1, c.work.Ranks/(2*c.work.Copies))
	return c.Load(func(s Seat) []Range { return []Range{c.submitted((s + Seat(shift)) % Seat(c.work.Ranks))} })
}

// LoadTo is the cost of loading what a rank has submitted that has failed into another one.
func (c *Costs) LoadTo(failed, to Seat) Cost {
	return c.After(failed).Load(func(s Seat) []Range {
		if s != to {
			return nil
		}
		return []Range{c.submitted(failed)}
	})
}

// LoadScattered is the cost of loading what a rank has submitted that has failed, evenly into
// all others.
func (c *Costs) LoadScattered(failed Seat) Cost {
	return c.After(failed).Load(func(s Seat) []Range {
		if s == failed {
			return nil
		}
		if s > failed {
			s--
		}
		return Split([]Range{c.submitted(failed)}, c.work.Ranks-1, int(s))
	})
}

// Repair is the cost of making the copies anew that were on ranks which have failed, of
// which none is replaced (IV-E).
func (c *Costs) Repair(failed ...Seat) Cost {
	layout := c.After(failed...).layout
	type transfer struct {
		from, to Seat
		bytes    int64
	}
	var transfers []transfer
	layout.touched(func(q int64) {
		holders := layout.holders(q)
		for _, at := range layout.copies(nil, q) {
			if len(holders) > 0 && at.seat != absent && !layout.holds(at) {
				transfers = append(transfers, transfer{c.source(at.seat, holders), at.seat, int64(c.geo.bytes(q))})
			}
		}
	})
	slices.SortFunc(transfers, func(a, b transfer) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	t := newTally(c.work.Ranks, c.network)
	for _, m := range transfers {
		t.move(m.from, m.to, m.bytes, t.meets(m.from, m.to))
	}
	return t.cost(2)
}
