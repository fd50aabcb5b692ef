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

// nearby is what a rank knows of others whose memory it can write to, and they to its own. It is used by
// operations only, and by Open when none is under way.
type nearby struct {
	writers map[comm.Rank]bool // ranks that can write here
	holders map[comm.Rank]bool // ranks whose memory this one can write to
	windows map[offheap.Address]*window
	submits uint64
}

// window is memory of another rank. It stays for the versions that come, which are in the same memory by
// turns. From the second one on it is mapped.
type window struct {
	*offheap.Window
	used uint64 // the submit that has last used it
}

// process tells ranks of different processes apart. Those of one send messages.
var process = func() int64 { return int64(os.Getpid()) }

// nearby are those that one of the ranks which have met can share memory with, as far as is known.
func (m meeting) nearby(own comm.Rank) nearby {
	n := nearby{writers: make(map[comm.Rank]bool), holders: make(map[comm.Rank]bool), windows: make(map[offheap.Address]*window)}
	for r, told := range m {
		here := told[introVicinity] == m[own][introVicinity] && told[introVicinity] != 0
		if here && told[introProcess] != m[own][introProcess] {
			n.writers[comm.Rank(r)], n.holders[comm.Rank(r)] = true, true
		}
	}
	return n
}

// open opens memory, or maps what it has opened before.
func (n *nearby) open(a offheap.Address) (*window, error) {
	if w := n.windows[a]; w != nil {
		_ = w.Map() // it is faster, and no more
		w.used = n.submits
		return w, nil
	}
	opened, err := openMemory(a)
	if err != nil {
		return nil, err
	}
	w := &window{opened, n.submits}
	n.windows[a] = w
	return w, nil
}

// openMemory is replaced by tests.
var openMemory = offheap.Address.Open

// forget gives back what neither this submit has used nor the one before, whose memory is the next one's.
func (n *nearby) forget() {
	for a, w := range n.windows {
		if w.used+1 < n.submits {
			n.close(a)
		}
	}
}

// leave gives everything back.
func (n *nearby) leave() {
	for a := range n.windows {
		n.close(a)
	}
	n.writers, n.holders = nil, nil
}

func (n *nearby) close(a offheap.Address) {
	_ = n.windows[a].Close() // it was open
	delete(n.windows, a)
}

// offer is memory that another rank may write its ranges to, one after the other.
type offer struct {
	Address offheap.Address // zero: none
	Begin   int64           // where the first one goes
}

var offerBytes = binary.Size(offer{})

// direct is what a submit writes, and has others write, without messages.
type direct struct {
	made   map[comm.Rank]bool    // ranks that this one has offered memory to
	got    map[comm.Rank]offer   // what others have offered
	opened map[comm.Rank]*target // of these, what can be written to
}

// target is where the next range goes in the memory of another rank.
type target struct {
	*window
	at int64
}

// offer tells others of this host where their ranges go in the memory of this rank.
func (sub *submitting) offer() error {
	d, near := &sub.direct, &sub.s.nearby
	d.made, d.got, d.opened = make(map[comm.Rank]bool), make(map[comm.Rank]offer), make(map[comm.Rank]*target)
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

// openOffered opens what others have offered.
func (sub *submitting) openOffered() {
	near := &sub.s.nearby
	near.submits++
	for dst, o := range sub.direct.got {
		w, err := near.open(o.Address)
		if err != nil {
			sub.unreachable(dst, err)
			continue
		}
		sub.direct.opened[dst] = &target{w, o.Begin}
	}
}

// unreachable is for a rank whose memory cannot be written to: its copies are sent, and it makes no offers again.
func (sub *submitting) unreachable(dst comm.Rank, why error) {
	delete(sub.direct.opened, dst)
	delete(sub.s.nearby.holders, dst)
	sub.s.options.Log.Info("copies for another rank of this host are sent as messages", "store", sub.s.name, "rank", dst, "err", why)
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
		sub.x.traffic.written.Add(int64(n))
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
