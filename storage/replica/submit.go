package replica

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/craft-go/craft/aft/comm"
)

// Submit replaces what the store has by the blocks of all ranks, as a new version. It is collective.
// When it returns nil on any rank the new version is there in full. After an error the one before is
// there, unless the error is that of a failure: then the next Open finds out which of the two is
// whole on all ranks.
func (s *Store) Submit(ctx context.Context, b Blocks) error {
	return s.StartSubmit(ctx, b).Wait(context.WithoutCancel(ctx))
}

// StartSubmit begins with Submit and does not wait for its end. Operations that are started
// meanwhile come after it.
func (s *Store) StartSubmit(ctx context.Context, b Blocks) *Request {
	return s.start(ctx, func(x *exchange) error {
		began := time.Now()
		defer func() { s.count(&s.stats.submitted, x, began) }()
		return s.submit(x, b)
	})
}

// submitting is one rank's part in a Submit.
type submitting struct {
	s      *Store
	x      *exchange
	blocks Blocks
	v      *version
	own    [][]byte // this rank's ranges, as they are stored
	taken  []byte   // memory that they are in, if the store gave it
	direct direct

	// in are the ranges that other ranks send to this one, out those that it sends, by rank and ascending.
	in, out map[comm.Rank][]int64
}

func (s *Store) submit(x *exchange, b Blocks) (err error) {
	sub := &submitting{s: s, x: x, blocks: b}
	if err := sub.agree(); err != nil {
		return err
	}
	defer func() {
		s.mem.give(sub.taken)
		if err != nil && !sub.v.whole {
			sub.v.free(s.mem)
		}
	}()
	sub.in, sub.out = sub.incoming(), sub.outgoing()
	if err := sub.prepare(); err != nil {
		return err
	}
	if err := sub.exchange(); err != nil {
		return err
	}
	sub.v.whole = true
	s.hold(sub.v)
	if _, err := s.settled(x, nil); err != nil {
		return err
	}
	s.adopt(sub.v)
	return nil
}

// What the ranks tell each other before anything is sent.
const (
	tellBad = iota
	tellN
	tellSize
	tellFirst
	tellCount
	tellBytes
	tellNumber
	tellTaken
	tellRoom
	tellings
)

// agree has all ranks tell what they submit, and makes the layout of it.
func (sub *submitting) agree() error {
	s, b, c := sub.s, &sub.blocks, sub.x.comm
	mine := make([]int64, tellings)
	bad := b.check()
	if bad != nil {
		mine[tellBad] = 1
	} else {
		taken, _ := b.taken()
		need := math.Inf(1) // nobody knows yet how much others submit, of which this rank gets a share
		if b.Size > 0 {
			need = math.Ceil(float64(s.places.copies)*float64(b.N)*float64(b.Size)/float64(c.Size())) + float64(taken) // all of them together suffice
		}
		room := s.mem.free(int64(min(need, 1<<62)))
		copy(mine[tellN:], []int64{b.N, int64(b.Size), b.First, b.count(), b.bytes(), int64(s.number), taken, room})
	}
	all := make([]int64, tellings*c.Size())
	if err := comm.Allgather(sub.x.ctx, c, mine, all); err != nil {
		return err
	}
	told := make([][]int64, c.Size())
	for r := range told {
		told[r] = all[r*tellings : (r+1)*tellings]
	}
	if err := disagreement(told); err != nil {
		return sub.x.refuse(cmp.Or(bad, err))
	}
	if err := enough(told, s.places.copies); err != nil {
		return sub.x.refuse(err)
	}
	sub.v = s.newVersion(told)
	return nil
}

// disagreement is what is wrong with what the ranks submit, the same on all of them.
func disagreement(told [][]int64) error {
	var blocks int64
	for r, t := range told {
		switch {
		case t[tellBad] != 0:
			return fmt.Errorf("%w: rank %d has given what cannot be submitted (its own error says what)", ErrBlocks, r)
		case t[tellN] != told[0][tellN]:
			return fmt.Errorf("%w: N is %d on rank 0 and %d on rank %d: it must be the same", ErrBlocks, told[0][tellN], t[tellN], r)
		case t[tellSize] != told[0][tellSize]:
			return fmt.Errorf("%w: Size is %d on rank 0 and %d on rank %d: it must be the same", ErrBlocks, told[0][tellSize], t[tellSize], r)
		case t[tellNumber] != told[0][tellNumber]:
			return fmt.Errorf("%w: rank 0 submits after version %d and rank %d after version %d: all ranks make the same calls", ErrBlocks, told[0][tellNumber], r, t[tellNumber])
		}
		blocks += t[tellCount]
	}
	if n := told[0][tellN]; blocks != n {
		return fmt.Errorf("%w: the ranks have submitted %d blocks in all, and N is %d", ErrBlocks, blocks, n)
	}
	return overlap(told)
}

// enough returns an error if all ranks together have not the memory for the copies, and for what blocks are first
// written to. Nothing is taken yet: later ranks would see less of what others have touched, and not what they will. Whether
// each has enough for its own is found out when it takes it.
func enough(told [][]int64, copies int) error {
	var bytes, taken, room uint64
	for _, t := range told {
		bytes += uint64(t[tellBytes])
		taken += uint64(t[tellTaken])
		room = min(room+uint64(t[tellRoom]), math.MaxInt64)
	}
	high, all := bits.Mul64(bytes, uint64(copies))
	all, carry := bits.Add64(all, taken, 0)
	if high+carry == 0 && all <= room {
		return nil
	}
	first := ""
	if taken > 0 {
		first = fmt.Sprintf(" (and %s where they are written first)", humanize.IBytes(taken))
	}
	return fmt.Errorf("%w: %d copies of %s%s are wanted, and all ranks together have %s available: use fewer copies, smaller or fewer blocks, or a larger Options.Limit (by default what the system has)",
		ErrMemory, copies, humanize.IBytes(bytes), first, humanize.IBytes(room))
}

// newVersion is the one that is submitted now: pure, but for the numbers of the store.
func (s *Store) newVersion(told [][]int64) *version {
	places := s.places
	submitted := make([]Range, len(told))
	var bytes int64
	for slot := range submitted {
		t := told[places.Owner(Slot(slot))]
		submitted[slot] = Range{t[tellFirst], t[tellFirst] + t[tellCount]}
		bytes += t[tellBytes]
	}
	n, size := told[0][tellN], int(told[0][tellSize])
	geo := newGeometry(n, size, perRange(s.options.RangeBytes, size, n, bytes), submitted)
	v := &version{
		number: s.number + 1, layout: newLayout(places, geo, s.options),
		original: s.original, incarnations: slices.Clone(s.incarnations),
		seat: Seat(s.comm.Rank()), copies: make(map[int64]*held),
	}
	for r := range told {
		v.ranks = append(v.ranks, comm.Rank(r))
	}
	return v
}

// prepare serializes this rank's blocks and takes memory for the ranges that it gets.
func (sub *submitting) prepare() error {
	serialized := sub.serialize()
	if sub.v.layout.geo.size > 0 {
		if serialized == nil {
			serialized = sub.allot(sub.v.layout.geo.bytes)
		}
		return sub.ready(serialized)
	}
	if _, err := sub.s.settled(sub.x, serialized); err != nil {
		return err
	}
	length, err := sub.lengths()
	if err != nil {
		return err
	}
	return sub.ready(sub.allot(func(q int64) int { return length[q] }))
}

// ready is settled, when all know where in the memory of others they may write.
func (sub *submitting) ready(own error) error {
	if err := sub.offer(); err != nil {
		return err
	}
	_, err := sub.s.settled(sub.x, own)
	return err
}

func (sub *submitting) serialize() (err error) {
	sub.own, sub.taken, err = sub.blocks.serialize(sub.x.ctx, sub.s.mem, sub.v.layout.geo.per)
	return err
}

func (sub *submitting) allot(length func(q int64) int) error {
	return sub.v.allot(sub.s.mem, sub.s.nearby.shares(), sub.v.layout.wanted(sub.v.seat), length)
}

// lengths has the ranks tell each other how long the ranges are that they send.
func (sub *submitting) lengths() (map[int64]int, error) {
	in, out := sub.in, sub.out
	told := make(map[comm.Rank][]byte)
	for _, src := range inTurn(in, sub.x.comm) {
		told[src] = make([]byte, 8*len(in[src]))
		sub.x.receive(src, tagLengths, [][]byte{told[src]})
	}
	for _, dst := range inTurn(out, sub.x.comm) {
		var b []byte
		for _, q := range out[dst] {
			b = binary.LittleEndian.AppendUint64(b, uint64(len(sub.stored(q))))
		}
		sub.x.send(dst, tagLengths, [][]byte{b})
	}
	if err := sub.x.wait(); err != nil {
		return nil, err
	}
	length := make(map[int64]int)
	for src, list := range in {
		for i, q := range list {
			length[q] = int(binary.LittleEndian.Uint64(told[src][8*i:]))
		}
	}
	for _, q := range sub.v.layout.wanted(sub.v.seat) {
		if sub.isOwn(q) {
			length[q] = len(sub.stored(q))
		}
	}
	return length, nil
}

// exchange has each range brought to all seats that are to hold it: into their memory, or as messages. The
// sums are made meanwhile, and follow.
func (sub *submitting) exchange() error {
	sub.openOffered()
	defer sub.s.nearby.forget()
	sums := make(map[comm.Rank][]byte)
	for _, src := range inTurn(sub.in, sub.x.comm) {
		if !sub.direct.made[src] {
			sub.receiveData(src)
		}
		sums[src] = make([]byte, sumBytes*len(sub.in[src])+1)
		sub.x.receive(src, tagSums, [][]byte{sums[src]})
	}
	for _, dst := range inTurn(sub.out, sub.x.comm) {
		if _, offered := sub.direct.got[dst]; !offered {
			sub.sendData(dst)
		}
	}
	own, err := sub.keep()
	if err != nil {
		return sub.x.withdraw(err)
	}
	for _, dst := range inTurn(sub.out, sub.x.comm) {
		var b []byte
		for _, q := range sub.out[dst] {
			b = binary.LittleEndian.AppendUint32(b, own[q])
		}
		sub.x.send(dst, tagSums, [][]byte{append(b, sub.written(dst))})
	}
	if err := sub.x.wait(); err != nil {
		return err
	}
	if err := sub.late(sums); err != nil {
		return err
	}
	for src, list := range sub.in {
		for i, q := range list {
			h := sub.v.copies[q]
			h.sum = binary.LittleEndian.Uint32(sums[src][sumBytes*i:])
			h.state.Store(intact)
		}
	}
	return nil
}

// sumBytes is the length of a checksum. Behind those of a rank is a byte that says whether it has written the
// data itself.
const sumBytes = 4

func (sub *submitting) receiveData(src comm.Rank) {
	var pieces [][]byte
	for _, q := range sub.in[src] {
		pieces = append(pieces, sub.v.copies[q].data)
	}
	sub.x.receive(src, tagData, pieces)
}

func (sub *submitting) sendData(dst comm.Rank) {
	var pieces [][]byte
	for _, q := range sub.out[dst] {
		pieces = append(pieces, sub.stored(q))
	}
	sub.x.send(dst, tagData, pieces)
}

// keep makes the sums of this rank's ranges, and the copies that it can write itself: its own ones, and those
// of others whose memory it has opened.
func (sub *submitting) keep() (map[int64]uint32, error) {
	from, to := sub.ownRanges()
	sums := make(map[int64]uint32, to-from)
	for q := from; q < to; q++ {
		stored := sub.stored(q)
		sums[q] = checksum(stored)
		if h := sub.v.copies[q]; h != nil {
			if err := sub.v.put(h, stored, sums[q]); err != nil {
				return nil, err
			}
		}
		if err := sub.write(q, stored); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

func (sub *submitting) incoming() map[comm.Rank][]int64 {
	in := make(map[comm.Rank][]int64)
	for _, q := range sub.v.layout.wanted(sub.v.seat) {
		if !sub.isOwn(q) {
			in[sub.submitter(q)] = append(in[sub.submitter(q)], q)
		}
	}
	return in
}

// submitter is the rank that submits a range.
func (sub *submitting) submitter(q int64) comm.Rank {
	return sub.v.rank(sub.v.layout.places.Owner(sub.v.layout.geo.submitter(q)))
}

func (sub *submitting) outgoing() map[comm.Rank][]int64 {
	out := make(map[comm.Rank][]int64)
	for q, to := sub.ownRanges(); q < to; q++ {
		for _, seat := range sub.v.layout.places.Holders(sub.v.layout.Slot(q)) {
			if seat != sub.v.seat {
				out[sub.v.rank(seat)] = append(out[sub.v.rank(seat)], q)
			}
		}
	}
	return out
}

// ownRanges are those that this rank submits, [from, to).
func (sub *submitting) ownRanges() (from, to int64) {
	return sub.v.layout.geo.own(sub.v.layout.places.Slot(sub.v.seat))
}

func (sub *submitting) isOwn(q int64) bool {
	from, to := sub.ownRanges()
	return from <= q && q < to
}

// stored is one of them, as it is stored.
func (sub *submitting) stored(q int64) []byte {
	from, _ := sub.ownRanges()
	return sub.own[q-from]
}

// inTurn are the ranks of a map, those behind this one first: so not all send to the same at once.
func inTurn[T any](m map[comm.Rank]T, c *comm.Comm) []comm.Rank {
	n := comm.Rank(c.Size())
	return slices.SortedFunc(maps.Keys(m), func(a, b comm.Rank) int {
		return cmp.Compare((a-c.Rank()+n)%n, (b-c.Rank()+n)%n)
	})
}

// overlap is what is wrong with whose blocks are whose.
func overlap(told [][]int64) error {
	byFirst := make([]int, 0, len(told))
	for r := range told {
		if told[r][tellCount] > 0 {
			byFirst = append(byFirst, r)
		}
	}
	slices.SortFunc(byFirst, func(a, b int) int { return cmp.Compare(told[a][tellFirst], told[b][tellFirst]) })
	var next int64
	for _, r := range byFirst {
		if first := told[r][tellFirst]; first != next {
			return fmt.Errorf("%w: rank %d has submitted from block %d on, and the blocks before end with %d: each block is submitted by one rank", ErrBlocks, r, first, next-1)
		}
		next += told[r][tellCount]
	}
	return nil
}
