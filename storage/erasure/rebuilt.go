package erasure

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/craft-go/craft/storage"
)

// RebuildPart writes the bytes of a lost part to w, made from what open finds of
// the other members of its set. What has been written is the part, as its size
// and checksum say, only if the error is nil. Otherwise it is a
// *storage.PartError: it matches ErrTooManyLost if not enough is left,
// storage.ErrNotFound or ErrDamaged if what would have been needed is not there or has
// wrong bytes, and neither if any of that cannot be read now.
func RebuildPart(ctx context.Context, id storage.ID, part storage.Part, open Open, w io.Writer) error {
	s, err := findSurvivors(ctx, id, part, open)
	if err != nil {
		return err
	}
	err = s.rebuild.writeTo(ctx, w)
	if err = errors.Join(err, s.close()); err != nil {
		return s.explain(err)
	}
	return nil
}

// keptBlocks is how many rebuilt blocks an open part keeps for the next read.
const keptBlocks = 4

// OpenRebuilt opens a part that is lost: each read rebuilds what it needs, and no
// more. ctx is for the life of the reader. Errors are those of RebuildPart. There
// is no checksum of less than a whole part: who reads has to check the bytes.
func OpenRebuilt(ctx context.Context, id storage.ID, part storage.Part, open Open) (storage.PartReader, error) {
	s, err := findSurvivors(ctx, id, part, open)
	if err != nil {
		return nil, err
	}
	p := &rebuiltPart{ctx: ctx, s: s}
	for i := range p.kept {
		p.kept[i] = &keptBlock{next: -1, job: s.rebuild.newJob(atOnce), block: -1}
	}
	return p, nil
}

// atOnce has all inputs of a block read at once: they may come from different nodes.
func atOnce(_ int, read func()) { go read() }

// rebuiltPart is a part that does not exist.
type rebuiltPart struct {
	ctx context.Context
	s   *survivors

	mu     sync.Mutex
	closed bool
	kept   [keptBlocks]*keptBlock // the one that was used last first
	users  sync.WaitGroup         // reads that are under way
}

// keptBlock is a block that has been rebuilt.
type keptBlock struct {
	next int64 // block that its latest user wants; the part's lock guards it

	mu    sync.Mutex
	job   *job
	block int64 // -1: none
}

var _ storage.PartReader = (*rebuiltPart)(nil)

func (p *rebuiltPart) Size() int64 { return p.s.rebuild.size() }

func (p *rebuiltPart) ReadAt(b []byte, off int64) (int, error) {
	p.mu.Lock()
	if p.closed || off < 0 {
		p.mu.Unlock()
		return 0, p.s.fail(fs.ErrInvalid)
	}
	p.users.Add(1)
	p.mu.Unlock()
	defer p.users.Done()
	done := 0
	for done < len(b) && off < p.Size() {
		n, err := p.readBlock(b[done:], off)
		if err != nil {
			return done, p.s.explain(err)
		}
		done += n
		off += int64(n)
	}
	if done < len(b) {
		return done, io.EOF
	}
	return done, nil
}

// readBlock reads from one block.
func (p *rebuiltPart) readBlock(b []byte, off int64) (int, error) {
	size := int64(p.s.rebuild.plan.Block)
	block := off / size
	k := p.pick(block)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.block != block {
		k.block = -1
		k.job.begin(p.ctx, block)
		if err := k.job.solve(p.ctx); err != nil {
			return 0, err
		}
		k.block = block
	}
	return copy(b, k.job.block()[off-block*size:]), nil
}

// pick returns where a block is kept, or is to be.
func (p *rebuiltPart) pick(block int64) *keptBlock {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.kept[:], func(k *keptBlock) bool { return k.next == block })
	if i < 0 {
		i = keptBlocks - 1
	}
	k := p.kept[i]
	copy(p.kept[1:], p.kept[:i])
	p.kept[0], k.next = k, block
	return k
}

// Close waits for reads that are under way.
func (p *rebuiltPart) Close() error {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	p.mu.Unlock()
	if closed {
		return nil
	}
	p.users.Wait()
	return p.s.close()
}
