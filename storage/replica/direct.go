package replica

import (
	"context"
	"encoding/binary"
	"os"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/offheap"
)

// A rank that submits writes the copies for others of its host into their memory: one copy of the bytes
// instead of the two of a message. A holder offers its memory to each of them when it has taken it; the sums
// of a writer follow when it has written, and say whether it could. If not it sends the data as a message
// after all, and both know that for the submits to come.
//
// Nobody knows when a process that has stopped goes on. So memory that was offered is of use again only when
// all have said that they have written: what a submit that has failed leaves is given back to the system
// (free). Who still writes does so to memory that nobody reads, which is neither found anew (Address.Token)
// nor shrinks.

// nearby is what a rank knows of others whose memory it can map, and they its own. It is used by
// operations only, and by Open when none is under way.
type nearby struct {
	writers map[comm.Rank]bool // ranks that can write here
	holders map[comm.Rank]bool // ranks whose memory this one can write to
	mapped  map[offheap.Address]*mapping
	submits uint64
}

// mapping is memory of another rank. It stays for the versions that come, which are in the same memory by
// turns.
type mapping struct {
	bytes []byte
	used  uint64 // the submit that has last used it
}

// process tells ranks of different processes apart. Those of one have no use for mappings.
var process = func() int64 { return int64(os.Getpid()) }

// nearby are those that one of the ranks which have met can share memory with, as far as is known.
func (m meeting) nearby(own comm.Rank) nearby {
	n := nearby{writers: make(map[comm.Rank]bool), holders: make(map[comm.Rank]bool), mapped: make(map[offheap.Address]*mapping)}
	for r, told := range m {
		here := told[introVicinity] == m[own][introVicinity] && told[introVicinity] != 0
		if here && told[introProcess] != m[own][introProcess] {
			n.writers[comm.Rank(r)], n.holders[comm.Rank(r)] = true, true
		}
	}
	return n
}

// open maps memory, unless it is.
func (n *nearby) open(a offheap.Address) ([]byte, error) {
	if n.mapped[a] == nil {
		b, err := mapMemory(a)
		if err != nil {
			return nil, err
		}
		n.mapped[a] = &mapping{bytes: b}
	}
	n.mapped[a].used = n.submits
	return n.mapped[a].bytes, nil
}

// mapMemory is replaced by tests.
var mapMemory = offheap.Address.Map

// forget gives back what neither this submit has used nor the one before, whose memory is the next one's.
func (n *nearby) forget() {
	for a, m := range n.mapped {
		if m.used+1 < n.submits {
			n.unmap(a)
		}
	}
}

// leave gives everything back.
func (n *nearby) leave() {
	for a := range n.mapped {
		n.unmap(a)
	}
	n.writers, n.holders = nil, nil
}

func (n *nearby) unmap(a offheap.Address) {
	_ = offheap.Unmap(n.mapped[a].bytes) // it was mapped
	delete(n.mapped, a)
}

// offer is memory that another rank may write its ranges to, one after the other.
type offer struct {
	Address offheap.Address // zero: none
	Begin   int64           // where the first one goes
}

var offerBytes = binary.Size(offer{})

// direct is what a submit writes, and has others write, without messages.
type direct struct {
	made   map[comm.Rank]bool   // ranks that this one has offered memory to
	got    map[comm.Rank]offer  // what others have offered
	memory map[comm.Rank][]byte // of these, as far as it is still to be written
}

// offer tells others of this host where their ranges go in the memory of this rank.
func (sub *submitting) offer() error {
	d, near := &sub.direct, &sub.s.nearby
	d.made, d.got, d.memory = make(map[comm.Rank]bool), make(map[comm.Rank]offer), make(map[comm.Rank][]byte)
	told := make(map[comm.Rank][]byte)
	for _, dst := range inTurn(sub.out, sub.x.comm) {
		if near.holders[dst] {
			told[dst] = make([]byte, offerBytes)
			sub.x.receive(dst, tagOffer, [][]byte{told[dst]})
		}
	}
	offers := sub.offers()
	for _, src := range inTurn(sub.in, sub.x.comm) {
		if near.writers[src] {
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
		var o offer
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
func (sub *submitting) offers() map[comm.Rank]offer {
	offers := make(map[comm.Rank]offer)
	if len(sub.v.buffers) == 0 {
		return offers
	}
	a := sub.s.mem.address(sub.v.buffers[0])
	var begin int64
	for _, q := range sub.v.layout.wanted(sub.v.seat) {
		src := sub.submitter(q)
		if _, known := offers[src]; !known {
			offers[src] = offer{a, begin}
		}
		begin += int64(len(sub.v.copies[q].data))
	}
	return offers
}

// mapOffered maps what others have offered. What cannot be is neither offered nor expected again.
func (sub *submitting) mapOffered() {
	near := &sub.s.nearby
	near.submits++
	for dst, o := range sub.direct.got {
		memory, err := near.open(o.Address)
		if err != nil {
			delete(near.holders, dst)
			sub.s.options.Log.Info("copies for another rank of this host are sent as messages", "store", sub.s.name, "rank", dst, "err", err)
			continue
		}
		sub.direct.memory[dst] = memory[o.Begin:]
	}
}

// write writes a range to the memory of its holders. A process that was declared dead need not go on.
func (sub *submitting) write(q int64, stored []byte) error {
	if len(sub.direct.memory) == 0 {
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
		if memory, mapped := sub.direct.memory[dst]; mapped {
			n := copy(memory, stored)
			sub.direct.memory[dst] = memory[n:]
			sub.x.traffic.written.Add(int64(n))
		}
	}
	return nil
}

// written is 1 if this rank has written its ranges to the memory of another one.
func (sub *submitting) written(dst comm.Rank) byte {
	if _, mapped := sub.direct.memory[dst]; mapped {
		return 1
	}
	return 0
}

// late has those send their data that could not write it.
func (sub *submitting) late(sums map[comm.Rank][]byte) error {
	for _, src := range inTurn(sub.in, sub.x.comm) {
		if sub.direct.made[src] && sums[src][len(sums[src])-1] == 0 {
			delete(sub.s.nearby.writers, src)
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
