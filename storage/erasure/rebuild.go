package erasure

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/erasure/striping"
)

// source is what is left of a member: its part, its parity file, both, or, if
// it is lost, neither.
type source struct {
	part   io.ReaderAt // nil: lost
	parity *ParityReader
}

// rebuild gives a lost part back. Of each stripe it reads no more than it needs. A block
// that cannot be read, for damage or any other reason, is one more loss in its stripe and
// in no other; where that is too much the error is a *LossError that holds the reasons.
type rebuild struct {
	code    *Code
	plan    *Plan
	lost    int      // member
	digest  uint32   // of the lost part
	sources []source // by member
}

// newRebuild rebuilds from sources, by member, of which first is a parity file.
func newRebuild(c *Code, first *ParityReader, sources []source, lost int) *rebuild {
	return &rebuild{c, first.plan, lost, first.parts.Digests[lost], sources}
}

// size returns how many bytes the lost part has.
func (r *rebuild) size() int64 { return r.plan.sizes[r.lost] }

// blocks returns how many blocks it has.
func (r *rebuild) blocks() int64 { return (r.size() + int64(r.plan.Block) - 1) / int64(r.plan.Block) }

// appendMissing appends to dst the members whose block of a stripe is not there. One without
// bytes needs no file.
func (r *rebuild) appendMissing(dst []int, stripe int64) []int {
	for member, from := range r.sources {
		there := from.part != nil
		if _, holds := r.plan.Row(stripe, member); holds {
			there = from.parity != nil
		}
		if !there && r.blockLen(stripe, member) > 0 {
			dst = append(dst, member)
		}
	}
	return dst
}

// blockLen returns the length of a member's block of a stripe, of data or of parity.
func (r *rebuild) blockLen(stripe int64, member int) int {
	if _, holds := r.plan.Row(stripe, member); holds {
		return r.plan.StripeLen(stripe)
	}
	return r.plan.DataLen(stripe, member)
}

// lacks returns how many members more are lost than parity brings back, in those
// stripes of the lost part that lack most.
func (r *rebuild) lacks() int {
	var part, parity []bool
	for _, from := range r.sources {
		part, parity = append(part, from.part != nil), append(parity, from.parity != nil)
	}
	l, worst := r.plan.Layout, 0
	for residue := range int64(l.Members) {
		if _, gives := l.Column(residue, r.lost); gives {
			worst = max(worst, striping.Missing(residue, l.Parity, part, parity))
		}
	}
	return worst - l.Parity
}

const (
	// aheadBytes is about how much memory the blocks take that are rebuilt at once,
	// as far as there are enough and not too many of them.
	aheadBytes = 16 << 20
	fewestJobs = 3
	mostJobs   = 16
)

// writeTo writes the whole part, of which several blocks are rebuilt at once. After an
// error what has been written is worthless. Data is trusted while it is read; wrong bytes
// show at the end, as *PartError, in the checksum of what was rebuilt.
//
// Each source is read by one goroutine, from its beginning to its end: that is what disks,
// and readers that fetch ahead, do best.
func (r *rebuild) writeTo(ctx context.Context, w io.Writer) error {
	inner, cancel := context.WithCancel(ctx)
	jobs := make([]*job, min(max(aheadBytes/(len(r.sources)*r.plan.Block), fewestJobs), mostJobs))
	var reading, solving sync.WaitGroup
	queues := make([]chan func(), len(r.sources))
	for member := range queues {
		queues[member] = make(chan func(), len(jobs)) // a job has one read of each member
		reading.Go(func() {
			for read := range queues[member] {
				read()
			}
		})
	}
	defer reading.Wait()
	defer func() {
		cancel()
		solving.Wait()
		for _, queue := range queues {
			close(queue)
		}
	}()
	begin := func(block int64) {
		if j := jobs[block%int64(len(jobs))]; block < r.blocks() {
			j.begin(inner, block)
			solving.Go(func() { j.done <- j.solve(inner) })
		}
	}
	for i := range jobs {
		jobs[i] = r.newJob(func(member int, read func()) { queues[member] <- read })
		begin(int64(i))
	}
	digest := uint32(0)
	for block := range r.blocks() {
		j := jobs[block%int64(len(jobs))]
		err := <-j.done
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		digest = crc32.Update(digest, castagnoli(), j.block())
		if _, err := w.Write(j.block()); err != nil {
			return fmt.Errorf("erasure: writing the part of member %d: %w", r.lost, err)
		}
		begin(block + int64(len(jobs)))
	}
	if digest != r.digest {
		return &PartError{Member: r.lost, Got: digest, Want: r.digest}
	}
	return nil
}

// job rebuilds blocks, one after the other, in memory of its own.
type job struct {
	r       *rebuild
	queue   func(member int, read func()) // has it run, not in the caller's goroutine
	stripe  int64
	memory  [][]byte // by member, a block and its checksum; made when needed
	blocks  [][]byte // by member; nil: not read
	errs    []error  // by member: why its block could not be read
	missing []int
	inputs  []int
	reading sync.WaitGroup
	err     error      // why the inputs do not suffice
	done    chan error // has the result, in writeTo
}

func (r *rebuild) newJob(queue func(member int, read func())) *job {
	s := len(r.sources)
	return &job{
		r: r, queue: queue, memory: make([][]byte, s), blocks: make([][]byte, s), errs: make([]error, s),
		done: make(chan error, 1),
	}
}

// block is what was rebuilt last.
func (j *job) block() []byte { return j.blocks[j.r.lost] }

// begin takes a block of the lost part, and has what is needed for it read.
func (j *job) begin(ctx context.Context, block int64) {
	j.stripe = j.r.plan.Stripe(j.r.lost, block)
	clear(j.blocks)
	clear(j.errs)
	j.missing = j.r.appendMissing(j.missing[:0], j.stripe)
	j.blocks[j.r.lost] = j.room(j.r.lost)
	j.read(ctx)
}

// solve rebuilds the block. Inputs that could not be read are replaced by others, as long
// as there are enough.
func (j *job) solve(ctx context.Context) error {
	for {
		j.reading.Wait()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case j.err != nil:
			return j.err
		case !j.dropUnread():
			return j.r.code.Reconstruct(j.stripe, j.blocks, j.inputs, j.r.lost)
		}
		j.read(ctx)
	}
}

// dropUnread takes inputs that could not be read for missing, and reports whether there
// are any.
func (j *job) dropUnread() bool {
	before := len(j.missing)
	for _, member := range j.inputs {
		if j.errs[member] != nil {
			j.blocks[member] = nil
			j.missing = append(j.missing, member)
		}
	}
	slices.Sort(j.missing)
	return len(j.missing) > before
}

// read has the inputs read that have not been yet.
func (j *job) read(ctx context.Context) {
	j.inputs, j.err = j.r.code.AppendInputs(j.inputs[:0], j.stripe, j.missing)
	var loss *LossError
	if errors.As(j.err, &loss) {
		loss.Err = storage.JoinPlaces(j.errs...)
	}
	if j.err != nil {
		return
	}
	for _, member := range j.inputs {
		if j.blocks[member] != nil {
			continue
		}
		b := j.room(member)
		j.blocks[member] = b
		j.reading.Add(1)
		j.queue(member, func() {
			defer j.reading.Done()
			if ctx.Err() == nil {
				j.errs[member] = j.readBlock(member, b)
			}
		})
	}
}

// room is where the block of a member goes.
func (j *job) room(member int) []byte {
	if j.memory[member] == nil {
		j.memory[member] = make([]byte, j.r.plan.Block+crcSize)
	}
	return j.memory[member][:j.r.blockLen(j.stripe, member)]
}

func (j *job) readBlock(member int, b []byte) error {
	r := j.r
	block, data := r.plan.BlockOf(member, j.stripe)
	if !data {
		if err := r.sources[member].parity.ReadBlock(j.stripe, b); err != nil {
			return fmt.Errorf("parity of member %d: %w", member, err)
		}
		return nil
	}
	if len(b) == 0 {
		return nil
	}
	got, err := r.sources[member].part.ReadAt(b, block*int64(r.plan.Block))
	if got == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("part of member %d, block %d: %w", member, block, err)
}
