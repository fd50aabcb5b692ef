package placement

import (
	"context"
	"errors"
	"sync/atomic"

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
// attempt, and from one checkpoint of the name, to the next. store is that of the checkpoint's home.
func openMemory(c Config, store string) (*memory.Objects, error) {
	limit := c.MemoryLimit
	if !c.Policy.On(storage.TierMemory) {
		return memory.New(limit).Of(""), nil
	}
	all, err := comm.Keep(c.Comm.Session(), memoryKey{}, func() (*memory.Store, error) { return inheritMemory(c), nil })
	if err != nil {
		return nil, err
	}
	objects := all.Of(c.Dir + "\x00" + store)
	objects.Before(c.BeforeMemory)
	return objects, nil
}

// inheritMemory is the memory of a rank, with what the process has left that it replaces.
func inheritMemory(c Config) *memory.Store {
	s := memory.New(c.MemoryLimit)
	left, taken := c.Comm.Session().Inherit(memory.BequestName)
	if len(left) == 0 {
		return s
	}
	defer taken()
	if err := s.Inherit(left); err != nil {
		c.Log.Warn("the versions in memory of the process that was replaced are lost", "error", err)
		return s
	}
	c.Log.Info("took over the versions in memory of the process that was replaced", "bytes", s.Usage().Used)
	return s
}

// forgetting takes versions out of memory.
type forgetting struct {
	memory   *memory.Objects
	nodes    *nodes
	register *register
	commands *commands
	cancel   func(storage.ID) // the healing of a version
	newest   atomic.Pointer[storage.ID]
}

// known is the newest version in memory that all ranks know, or will, to be complete.
func (f *forgetting) known() (id storage.ID) {
	if newest := f.newest.Load(); newest != nil {
		id = *newest
	}
	return id
}

// overtake forgets, on all ranks alike, what is in memory of older versions of a stage when a
// new one is there: all ranks know that it is.
func (f *forgetting) overtake(id storage.ID) {
	if id.Version > f.known().Version {
		f.newest.Store(&id)
	}
	for _, old := range f.register.overtakenInMemory(id, f.memory.IDs()) {
		f.forget(old)
	}
}

func (f *forgetting) forget(id storage.ID) {
	f.cancel(id)
	f.memory.Forget(id)
	f.register.leaveMemory(id)
}

// everywhere has all ranks forget a version, if anything of it is in memory. Rank 0 calls it.
func (f *forgetting) everywhere(ctx context.Context, id storage.ID) error {
	if !query(f.register, func(v catalog.View) bool { return catalog.InMemory(v).Any(id) }) {
		return nil
	}
	var all errgroup.Group
	all.SetLimit(64)
	for rank := range comm.Rank(f.nodes.ranks()) {
		if rank == f.nodes.me {
			continue
		}
		all.Go(func() error {
			err := f.commands.give(ctx, rank, verbForget, id.String())
			if errors.Is(err, comm.ErrProcFailed) { // and its memory with it
				return nil
			}
			return err
		})
	}
	err := all.Wait()
	if err == nil {
		f.forget(id)
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
	r.tell(func() { r.cat.Leave(id, storage.TierMemory) })
	r.note(id, func(about *note) {
		about.healed, about.tornMemory = about.healed.On(storage.TierNode, storage.TierHome), false
	})
}

// isInFiles reports whether a version was to be in files, or anything of it is.
func (r *register) isInFiles(id storage.ID, s schemes) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, known := r.cat.Facts(id)
	if r.carried {
		return false
	}
	return !known || !s.memoryAlone(f.Plan) || catalog.InFiles(r.cat.View).Any(id)
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

// Memory is how many bytes this rank uses for versions in memory, of all its checkpoints, and how
// many it has used at most.
func Memory(p *Placement) (used, most int64) {
	if !p.OnNodes() {
		return 0, 0
	}
	u := p.forgetting.memory.Usage()
	return u.Used, u.Most
}

// DamageMemory flips a bit of all that this rank has in memory of a rank's parts; it is for tests.
func DamageMemory(p *Placement, of int, kind storage.Kind, bit int64) {
	objects := p.forgetting.memory
	for _, key := range objects.Inventory() {
		if key.Part.Rank == of && key.Kind == kind {
			objects.Damage(key, bit)
		}
	}
}
