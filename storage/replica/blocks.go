package replica

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// Blocks are what a rank submits: its blocks of those of all ranks, N of them, which are divided among the
// ranks in any way.
type Blocks struct {
	N    int64 // of all ranks together, the same on all
	Size int   // bytes of each block, the same on all ranks; 0: they differ, see Offsets and SizeOf
	// First is the number of this rank's first block. Even says which are whose when they are divided evenly.
	First int64
	// Data are this rank's blocks, one after the other. It must not change before the submission
	// has ended.
	Data []byte
	// Offsets are where blocks of different sizes begin: block First+i is Data[Offsets[i]:Offsets[i+1]].
	Offsets []int64

	// Count and Fill are in place of Data for a program that serializes: the library gives the memory of
	// each of this rank's Count blocks, of Size bytes or SizeOf, and Fill writes the block there.
	Count  int64
	Fill   func(id int64, block []byte) error
	SizeOf func(id int64) int
}

// maxBlocks bounds what is counted, times the ranks of a job too.
const maxBlocks = 1 << 48

// count is the number of this rank's blocks.
func (b *Blocks) count() int64 {
	switch {
	case b.Fill != nil:
		return b.Count
	case b.Size > 0:
		return int64(len(b.Data) / b.Size)
	}
	return max(int64(len(b.Offsets))-1, 0)
}

// sizeOf is the length of a block.
func (b *Blocks) sizeOf(id int64) int {
	switch {
	case b.Size > 0:
		return b.Size
	case b.Fill != nil:
		return b.SizeOf(id)
	}
	i := id - b.First
	return int(b.Offsets[i+1] - b.Offsets[i])
}

// check is what is wrong with the blocks as this rank alone can see it.
func (b *Blocks) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrBlocks, fmt.Sprintf(format, args...))
	}
	switch {
	case b.N < 1 || b.N > maxBlocks:
		return bad("N is %d: allowed are 1 to %d blocks", b.N, int64(maxBlocks))
	case b.Size < 0 || b.Size > math.MaxInt32:
		return bad("Size is %d: allowed are 1 to %d bytes, and 0 for blocks of different sizes", b.Size, math.MaxInt32)
	case b.Size > 0 && b.N > math.MaxInt64/int64(b.Size):
		return bad("N is %d and Size %d: that is more bytes than can be counted", b.N, b.Size)
	case b.Fill != nil && b.Data != nil:
		return bad("Data and Fill are both given: one of them says what the blocks are")
	case b.Fill != nil && b.Count < 0:
		return bad("Count is %d: allowed are 0 or more", b.Count)
	case b.Fill != nil && b.Size == 0 && b.SizeOf == nil:
		return bad("Size is 0 and there is no SizeOf that says how long each block is")
	case b.Fill == nil && b.Size > 0 && len(b.Data)%b.Size != 0:
		return bad("Data has %d bytes, which blocks of %d bytes do not divide", len(b.Data), b.Size)
	case b.Fill == nil && b.Size == 0:
		if err := b.checkOffsets(bad); err != nil {
			return err
		}
	}
	if n := b.count(); b.First < 0 || b.First > b.N || n > b.N-b.First {
		return bad("this rank has %d blocks from number %d, and there are %d in all", n, b.First, b.N)
	}
	return nil
}

func (b *Blocks) checkOffsets(bad func(string, ...any) error) error {
	if len(b.Offsets) == 0 && len(b.Data) > 0 {
		return bad("Size is 0 and there are no Offsets that say where each block begins")
	}
	for i, o := range b.Offsets {
		switch {
		case i == 0 && o != 0:
			return bad("Offsets begin with %d: the first block begins at 0", o)
		case i > 0 && (o < b.Offsets[i-1] || o-b.Offsets[i-1] > math.MaxInt32):
			return bad("Offsets[%d] is %d and the one before %d: they must not fall, nor a block be longer than %d bytes", i, o, b.Offsets[i-1], math.MaxInt32)
		case i == len(b.Offsets)-1 && o != int64(len(b.Data)):
			return bad("Offsets end with %d, Data with %d", o, len(b.Data))
		}
	}
	return nil
}

// bytes are those of all blocks of this rank.
func (b *Blocks) bytes() (n int64) {
	if b.Size > 0 {
		return b.count() * int64(b.Size)
	}
	for id := b.First; id < b.First+b.count(); id++ {
		n += int64(min(max(b.sizeOf(id), 0), math.MaxInt32))
	}
	return n
}

// A range of blocks of different sizes is stored with their lengths before it, four bytes each.
const lengthBytes = 4

// taken is how much memory serialize takes, if it takes any.
func (b *Blocks) taken() (need int64, takes bool) {
	switch {
	case b.Size == 0:
		return b.bytes() + b.count()*lengthBytes, true
	case b.Fill != nil:
		return b.bytes(), true
	}
	return 0, false
}

// serialize returns this rank's ranges as they are stored. Blocks of one size that are there already
// are not copied; else it takes memory, which the caller gives back.
func (b *Blocks) serialize(ctx context.Context, m *memory, per int64) (ranges [][]byte, taken []byte, err error) {
	count := b.count()
	memory := b.Data
	if need, takes := b.taken(); takes {
		if taken, err = m.take(need); err != nil {
			return nil, nil, err
		}
		memory = taken
	}
	for lo := int64(0); lo < count; lo += per {
		length, err := b.writeRange(ctx, memory, Range{b.First + lo, b.First + min(lo+per, count)})
		if err != nil {
			m.give(taken)
			return nil, nil, err
		}
		ranges = append(ranges, memory[:length:length])
		memory = memory[length:]
	}
	return ranges, taken, nil
}

// writeRange brings a range into memory, unless it is there, and returns its length.
func (b *Blocks) writeRange(ctx context.Context, memory []byte, r Range) (length int, err error) {
	if b.Size > 0 && b.Fill == nil {
		return int(r.Len()) * b.Size, nil
	}
	if b.Size == 0 {
		length = int(r.Len()) * lengthBytes
	}
	for id := r.Lo; id < r.Hi; id++ {
		n := b.sizeOf(id)
		if n < 0 || n > math.MaxInt32 || n > len(memory)-length {
			return 0, fmt.Errorf("%w: SizeOf(%d) is %d: allowed are 0 to %d, the same at each call", ErrBlocks, id, n, math.MaxInt32)
		}
		if b.Size == 0 {
			binary.LittleEndian.PutUint32(memory[(id-r.Lo)*lengthBytes:], uint32(n))
		}
		block := memory[length : length+n : length+n]
		length += n
		switch {
		case b.Fill == nil:
			copy(block, b.Data[b.Offsets[id-b.First]:])
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		default:
			err = b.Fill(id, block)
		}
		if err != nil {
			return 0, fmt.Errorf("replica: block %d is not serialized: %w", id, err)
		}
	}
	return length, nil
}

// perRange is how many blocks make a range of about so many bytes, at most all.
func perRange(rangeBytes, size int, blocks, bytes int64) int64 {
	if size > 0 {
		return max(int64(rangeBytes/size), 1)
	}
	high, low := bits.Mul64(uint64(rangeBytes), uint64(blocks))
	if high >= uint64(max(bytes, 1)) {
		return max(blocks, 1)
	}
	per, _ := bits.Div64(high, low, uint64(max(bytes, 1)))
	return int64(min(max(per, 1), uint64(max(blocks, 1))))
}
