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
)

// source is what is left of a member: its part, its parity file, both, or, if
// it is lost, neither.
type source struct {
	part   io.ReaderAt // nil: lost
	parity *ParityReader
}

// rebuild does what a recipe says. Of each stripe it reads no more than it needs. A block
// that cannot be read, for damage or any other reason, is one more loss in its stripe and
// in no other; where that is too much the error is a *LossError that holds the reasons.
type rebuild struct {
	*recipe

	digest  uint32 // of the lost part
	sources []source
}

// newRebuild rebuilds from sources, by member, of which first is a parity file.
func newRebuild(c *Code, first *ParityReader, sources []source, lost int) *rebuild {
	r := &recipe{code: c, plan: first.plan, lost: lost}
	for _, s := range sources {
		r.hasPart, r.hasParity = append(r.hasPart, s.part != nil), append(r.hasParity, s.parity != nil)
	}
	return &rebuild{r, first.parts.Digests[lost], sources}
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
func (r *rebuild) writeTo(ctx context.Context, w io.Writer) error {
	inner, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	jobs := make([]*job, min(max(aheadBytes/(len(r.sources)*r.plan.Block), fewestJobs), mostJobs))
	begin := func(block int64) {
		if j := jobs[block%int64(len(jobs))]; block < r.blocks() {
			all.Go(func() { j.done <- j.solve(inner, block) })
		}
	}
	for i := range jobs {
		jobs[i] = r.newJob()
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
		digest = crc32.Update(digest, castagnoli, j.block())
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
	stripe  int64
	memory  [][]byte // by member, a block and its checksum; made when needed
	blocks  [][]byte // by member; nil: not read
	errs    []error  // by member: why its block could not be read
	missing []int
	inputs  []int
	done    chan error // has the result, in writeTo
}

func (r *rebuild) newJob() *job {
	s := len(r.sources)
	return &job{r: r, memory: make([][]byte, s), blocks: make([][]byte, s), errs: make([]error, s), done: make(chan error, 1)}
}

// block is what was rebuilt last.
func (j *job) block() []byte { return j.blocks[j.r.lost] }

// solve rebuilds a block of the lost part. Inputs that cannot be read are replaced by
// others, as long as there are enough.
func (j *job) solve(ctx context.Context, block int64) error {
	r := j.r
	j.stripe = r.plan.Stripe(r.lost, block)
	clear(j.blocks)
	clear(j.errs)
	j.missing = r.appendMissing(j.missing[:0], j.stripe)
	j.blocks[r.lost] = j.room(r.lost)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var err error
		j.inputs, err = r.code.AppendInputs(j.inputs[:0], j.stripe, j.missing)
		var loss *LossError
		if errors.As(err, &loss) {
			loss.Err = storage.JoinPlaces(j.errs...)
		}
		if err != nil {
			return err
		}
		if j.read() {
			return r.code.Reconstruct(j.stripe, j.blocks, j.missing)
		}
		slices.Sort(j.missing)
	}
}

// room is where the block of a member goes.
func (j *job) room(member int) []byte {
	if j.memory[member] == nil {
		j.memory[member] = make([]byte, j.r.plan.Block+crcSize)
	}
	return j.memory[member][:j.r.blockLen(j.stripe, member)]
}

// read reads the inputs that have not been read yet, all at once: they may come from
// different nodes. It reports whether it has all; the others are missing.
func (j *job) read() bool {
	var all sync.WaitGroup
	for _, member := range j.inputs {
		if j.blocks[member] == nil {
			j.blocks[member] = j.room(member)
			all.Go(func() { j.errs[member] = j.readBlock(member, j.blocks[member]) })
		}
	}
	all.Wait()
	before := len(j.missing)
	for _, member := range j.inputs {
		if j.errs[member] != nil {
			j.blocks[member] = nil
			j.missing = append(j.missing, member)
		}
	}
	return len(j.missing) == before
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
