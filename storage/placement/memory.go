package placement

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/internal/memory"
)

// memoryKey is that of the memory that a session keeps.
type memoryKey struct{}

func (memoryKey) String() string { return "memory of versions" }

// openMemory finds what this rank has in memory of the checkpoint: the session keeps it from one
// attempt, and from one checkpoint of the name, to the next.
func (p *Placement) openMemory() error {
	limit := p.config.MemoryLimit
	if !p.config.Policy.On(storage.TierMemory) {
		p.memory = memory.New(limit).Of("")
		return nil
	}
	store, err := comm.Keep(p.config.Comm.Session(), memoryKey{}, func() (*memory.Store, error) { return memory.New(limit), nil })
	if err != nil {
		return err
	}
	p.memory = store.Of(p.config.Dir + "\x00" + p.manifest.Last().ID)
	p.memory.Before(p.config.BeforeMemory)
	return nil
}

// overtake forgets, on all ranks alike, what is in memory of older versions of a stage when a
// new one is there: all ranks know that it is.
func (p *Placement) overtake(id storage.ID) {
	for _, old := range p.register.overtakenInMemory(id, p.memory.IDs()) {
		p.forgetInMemory(old)
	}
}

func (p *Placement) forgetInMemory(id storage.ID) {
	p.healer.Cancel(id)
	p.memory.Forget(id)
	p.register.leaveMemory(id)
}

// Discard forgets, on all ranks alike, what is in memory of a version that they have found not to
// be complete. Where the others may think otherwise it is not called.
func (p *Placement) Discard(id storage.ID) {
	if p.OnNodes() {
		p.forgetInMemory(id)
	}
}

// dropMemory has all ranks forget what is in memory of a version, if anything is. Rank 0 calls it.
func (p *Placement) dropMemory(ctx context.Context, id storage.ID) error {
	if !query(p.register, func(v catalog.View) bool { return v.InMemory().Any(id) }) {
		return nil
	}
	var all errgroup.Group
	all.SetLimit(64)
	for rank := range comm.Rank(p.nodes.ranks()) {
		if rank == p.nodes.me {
			continue
		}
		all.Go(func() error {
			err := p.commands.give(ctx, rank, verbForget, id.String())
			if errors.Is(err, comm.ErrProcFailed) { // and its memory with it
				return nil
			}
			return err
		})
	}
	err := all.Wait()
	if err == nil {
		p.forgetInMemory(id)
	}
	return err
}

// memoryAlone reports whether nothing of a version goes to a file on any node.
func (s schemes) memoryAlone(plan storage.Levels) bool { return s.allPossible(plan).MemoryAlone() }

// overtakenInMemory are, of the versions in memory, the older ones of the stage of a new one. A rank
// that is ahead may have brought a part of a newer one.
func (r *register) overtakenInMemory(id storage.ID, there []storage.ID) (old []storage.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stage, _ := r.cat.Facts(id)
	for _, one := range there {
		if f, _ := r.cat.Facts(one); one.Version < id.Version && f.Stage == stage.Stage {
			old = append(old, one)
		}
	}
	return old
}

// leaveMemory notes that nothing of a version is in memory any more.
func (r *register) leaveMemory(id storage.ID) {
	r.tell(func() { r.cat.LeaveMemory(id) })
	r.note(id, func(about *note) {
		about.healed, about.tornMemory = about.healed.On(storage.TierNode, storage.TierHome), false
	})
}

// isInFiles reports whether a version was to be in files, or anything of it is.
func (r *register) isInFiles(id storage.ID, s schemes) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, known := r.cat.Facts(id)
	return !known || !s.memoryAlone(f.Plan) || r.cat.InFiles().Any(id)
}

// lookAtMemory lists what this rank has in memory.
func (s *surveyor) lookAtMemory(ctx context.Context, h *catalog.Findings) {
	known := make(map[storage.ID]bool)
	for _, key := range s.memory.Inventory() {
		h.Objects = append(h.Objects, key)
		if !known[key.ID] {
			header, err := s.header(key.ID, key.Part, func() (storage.PartReader, error) { return s.memory.OpenObject(ctx, key) })
			known[key.ID] = h.Header(key.ID, header, err)
		}
	}
}

// header is that of a part, if it is what its place says.
func (s *surveyor) header(id storage.ID, part storage.Part, open func() (storage.PartReader, error)) (h container.Header, err error) {
	r, err := open()
	if err != nil {
		return h, err
	}
	defer r.Close()
	if h, err = container.ReadHeader(r, r.Size()); err == nil {
		err = storage.CheckIdentity(h, s.name, id, part)
	}
	return h, err
}

// MemoryAlone reports whether the next version of a number is to be in memory alone.
func (p *Placement) MemoryAlone(version uint64) bool {
	return p.OnNodes() && p.schemes.memoryAlone(p.Plan(version))
}

// Volatile reports whether nothing of a version is in a file.
func (p *Placement) Volatile(id storage.ID) bool {
	return query(p.register, func(v catalog.View) bool { return v.Any(id) && !v.InFiles().Any(id) })
}
