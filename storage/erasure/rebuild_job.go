package erasure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/craft-go/craft/storage"
)

// job is the rebuilding of one stripe, with the memory for it, which serves one
// stripe after the other.
type job struct {
	r      *rebuild
	stripe int64
	n      int // its length

	memory  [][]byte // by member, a block and its checksum; made when needed
	blocks  [][]byte // by member
	missing []int
	inputs  []int
	have    []bool  // by member: read, or tried
	errs    []error // by member: why its block could not be read

	reading sync.WaitGroup // inputs that are still being read
	done    chan error     // has the result, in the pipeline
}

func (r *rebuild) newJob() *job {
	s := len(r.sources)
	return &job{
		r: r, memory: make([][]byte, s), blocks: make([][]byte, s), have: make([]bool, s), errs: make([]error, s),
		done: make(chan error, 1),
	}
}

// begin takes a stripe. It tells whether the lost part has a block in it, and then
// has the inputs to be read.
func (j *job) begin(stripe int64, n int) (wanted bool, err error) {
	r := j.r
	j.stripe, j.n = stripe, n
	j.missing, j.inputs = j.missing[:0], j.inputs[:0]
	for member := range r.sources {
		j.blocks[member], j.have[member], j.errs[member] = nil, false, nil
		if !r.there(stripe, member) {
			j.missing = append(j.missing, member)
		}
	}
	size := r.plan.DataLen(stripe, r.lost)
	if size == 0 {
		return false, nil
	}
	j.blocks[r.lost] = j.room(r.lost)[:size]
	return true, j.choose()
}

// choose sets the inputs by what is missing.
func (j *job) choose() error {
	var err error
	j.inputs, err = j.r.code.AppendInputs(j.inputs[:0], j.stripe, j.missing)
	var loss *LossError
	if errors.As(err, &loss) {
		loss.Err = storage.JoinPlaces(j.errs...)
	}
	if err != nil {
		return err
	}
	for _, member := range j.inputs {
		if !j.have[member] {
			j.room(member)
		}
	}
	return nil
}

func (j *job) room(member int) []byte {
	if j.memory[member] == nil {
		j.memory[member] = make([]byte, j.r.plan.Block+crcSize)
	}
	return j.memory[member]
}

// solve does all of a stripe.
func (j *job) solve(ctx context.Context, stripe int64, n int) error {
	wanted, err := j.begin(stripe, n)
	if err != nil || !wanted {
		return err
	}
	j.readRest()
	return j.decode(ctx)
}

// decode computes what is wanted. Inputs that could not be read are replaced by
// others, as long as there are enough.
func (j *job) decode(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		bad := false
		for _, member := range j.inputs {
			if j.errs[member] != nil {
				j.blocks[member] = nil
				j.missing = append(j.missing, member)
				bad = true
			}
		}
		if !bad {
			return j.r.code.Reconstruct(j.stripe, j.blocks, j.missing)
		}
		slices.Sort(j.missing)
		if err := j.choose(); err != nil {
			return err
		}
		j.readRest()
	}
}

// readRest reads the inputs that have not been read yet, all at once: they may
// come from different nodes.
func (j *job) readRest() {
	var all sync.WaitGroup
	for _, member := range j.inputs {
		if !j.have[member] {
			all.Go(func() { j.read(member) })
		}
	}
	all.Wait()
}

// read reads the block of a member.
func (j *job) read(member int) {
	j.have[member] = true
	j.blocks[member], j.errs[member] = j.readBlock(member, j.memory[member])
}

func (j *job) readBlock(member int, room []byte) ([]byte, error) {
	r := j.r
	if _, parity := r.plan.Row(j.stripe, member); parity {
		if err := r.sources[member].Parity.ReadBlock(j.stripe, room[:j.n]); err != nil {
			return nil, fmt.Errorf("parity of member %d: %w", member, err)
		}
		return room[:j.n], nil
	}
	block, _ := r.plan.BlockOf(member, j.stripe)
	room = room[:r.plan.DataLen(j.stripe, member)]
	if len(room) == 0 {
		return room, nil
	}
	got, err := r.sources[member].Part.ReadAt(room, block*int64(r.plan.Block))
	if got < len(room) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("part of member %d, block %d: %w", member, block, err)
	}
	return room, nil
}
