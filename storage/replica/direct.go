package replica

import (
	"context"
	"encoding/binary"

	"github.com/craft-go/craft/aft/comm"
)

// A rank that submits writes the copies for others of its host into their memory: one copy of the bytes
// instead of the two of a message. A holder offers its memory to each of them when it has taken it; the sums
// of a writer follow when it has written, and say whether it could. If not it sends the data as a message
// after all, and both know that for what comes.
//
// Nobody knows when a process that has stopped goes on. So memory that was offered is of use again only when
// all have said that they have written: what a submit that has failed leaves is given back to the system
// (free). Who still writes does so to memory that nobody reads, which is neither found anew (Address.Token)
// nor shrinks.

var locationBytes = binary.Size(location{})

// direct is what a submit writes, and has others write, without messages.
type direct struct {
	made   map[comm.Rank]bool     // ranks that this one has offered memory to
	got    map[comm.Rank]location // where others have offered that the ranges go, one after the other
	opened map[comm.Rank]*target  // of these, what can be written to
}

// target is where the next range goes in the memory of another rank.
type target struct {
	*window
	at int64
}

// offer tells others of this host where their ranges go in the memory of this rank.
func (sub *submitting) offer() error {
	d, near := &sub.direct, &sub.s.nearby
	d.made, d.got, d.opened = make(map[comm.Rank]bool), make(map[comm.Rank]location), make(map[comm.Rank]*target)
	told := make(map[comm.Rank][]byte)
	for _, dst := range inTurn(sub.out, sub.x.comm) {
		if near.opens[dst] {
			told[dst] = make([]byte, locationBytes)
			sub.x.receive(dst, tagOffer, [][]byte{told[dst]})
		}
	}
	offers := sub.offers()
	for _, src := range inTurn(sub.in, sub.x.comm) {
		if near.openedBy[src] {
			d.made[src] = !offers[src].Address.IsZero()
			b, err := binary.Append(nil, binary.LittleEndian, offers[src])
			if err != nil {
				return sub.x.withdraw(err)
			}
			sub.x.send(src, tagOffer, [][]byte{b})
		}
	}
	if err := sub.x.wait(); err != nil {
		return err
	}
	for dst, b := range told {
		var o location
		if _, err := binary.Decode(b, binary.LittleEndian, &o); err != nil {
			return err
		}
		if !o.Address.IsZero() {
			d.got[dst] = o
		}
	}
	return nil
}

// offers are those to all who submit ranges of this rank's; none if it has no memory for them.
func (sub *submitting) offers() map[comm.Rank]location {
	offers := make(map[comm.Rank]location)
	for _, q := range sub.v.layout.wanted(sub.v.seat) {
		src := sub.submitter(q)
		if _, known := offers[src]; !known && sub.v.copies[q] != nil {
			offers[src] = sub.v.copies[q].at
		}
	}
	return offers
}

// openOffered opens what others have offered.
func (sub *submitting) openOffered() {
	near := &sub.s.nearby
	near.submits++
	for dst, o := range sub.direct.got {
		again := near.windows[o.Address] != nil
		w, err := near.open(o.Address)
		if err != nil {
			sub.unreachable(dst, err)
			continue
		}
		if again {
			_ = w.Map() // it is faster, and no more
		}
		sub.direct.opened[dst] = &target{w, o.Begin}
	}
}

// unreachable has the copies for a rank sent.
func (sub *submitting) unreachable(dst comm.Rank, why error) {
	delete(sub.direct.opened, dst)
	sub.s.unreachable(dst, why)
}

// write writes a range to the memory of its holders. A process that was declared dead need not go on.
func (sub *submitting) write(q int64, stored []byte) error {
	if len(sub.direct.opened) == 0 {
		return nil
	}
	if sub.x.ctx.Err() != nil {
		return context.Cause(sub.x.ctx)
	}
	if err := sub.x.comm.Lease(); err != nil {
		return err
	}
	for _, seat := range sub.v.layout.places.Holders(sub.v.layout.Slot(q)) {
		dst := sub.v.rank(seat)
		to := sub.direct.opened[dst]
		if to == nil {
			continue
		}
		n, err := to.WriteAt(stored, to.at)
		if err != nil {
			sub.unreachable(dst, err)
			continue
		}
		to.at += int64(n)
		sub.x.traffic.direct.Add(int64(n))
	}
	return nil
}

// written is 1 if this rank has written its ranges to the memory of another one.
func (sub *submitting) written(dst comm.Rank) byte {
	if sub.direct.opened[dst] == nil {
		return 0
	}
	return 1
}

// late has those send their data that could not write it.
func (sub *submitting) late(sums map[comm.Rank][]byte) error {
	for _, src := range inTurn(sub.in, sub.x.comm) {
		if sub.direct.made[src] && sums[src][len(sums[src])-1] == 0 {
			delete(sub.s.nearby.openedBy, src)
			sub.receiveData(src)
		}
	}
	for _, dst := range inTurn(sub.direct.got, sub.x.comm) {
		if sub.written(dst) == 0 {
			sub.sendData(dst)
		}
	}
	return sub.x.wait()
}
