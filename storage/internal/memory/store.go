package memory

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

var errClosed = errors.New("the memory of the rank is closed")

// Store is the memory of a rank. Its methods may be called concurrently.
type Store struct {
	extents *extents
	windows *windows
	gaveWay atomic.Bool // see Objects.GaveWay

	mu sync.Mutex
	of map[string]*Objects
}

var _ comm.Keeper = (*Store)(nil)

// New returns an empty store that uses at most limit bytes; 0: any number.
func New(limit int64) *Store {
	s := &Store{extents: newExtents(limit), windows: new(windows), of: make(map[string]*Objects)}
	runtime.AddCleanup(s, func(w *windows) { w.drop() }, s.windows) // of a rank that was killed in the process of others
	return s
}

// Of returns the objects of a checkpoint, by a name that no other one has.
func (s *Store) Of(checkpoint string) *Objects {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.of[checkpoint]
	if o == nil {
		o = &Objects{
			store: s, list: make(map[storage.ObjectKey]*object), forgotten: make(map[storage.ID]bool),
			coming: make(map[*writer]bool),
		}
		s.of[checkpoint] = o
	}
	return o
}

// Share tells how many ranks share what the system has, this one among them.
func (o *Objects) Share(ranks int) {
	x := o.store.extents
	x.mu.Lock()
	defer x.mu.Unlock()
	x.peers = ranks
}

// Usage is how many bytes are in use, and how many were at most.
type Usage struct{ Used, Most int64 }

// Usage is that of all checkpoints.
func (s *Store) Usage() Usage {
	s.extents.mu.Lock()
	defer s.extents.mu.Unlock()
	return Usage{s.extents.used, s.extents.most}
}

// Rebind implements comm.Keeper: what is here stays as it is. What was spare may be all that is left.
func (s *Store) Rebind(*comm.Comm, comm.Change) error {
	s.windows.drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.of {
		o.keepSpare()
	}
	return nil
}

// Close gives the memory back, as soon as nobody reads or writes any more.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.of {
		o.close()
	}
	clear(s.of)
	s.extents.close()
	s.windows.drop()
	return nil
}

// Usage is that of all checkpoints of the rank.
func (o *Objects) Usage() Usage { return o.store.Usage() }

// Objects are those of one checkpoint.
type Objects struct {
	store *Store
	// Before, if not nil, is asked before each operation, by name: tests let it fail, or kill.
	before func(operation string, key storage.ObjectKey) error

	mu        sync.Mutex
	list      map[storage.ObjectKey]*object
	forgotten map[storage.ID]bool // of which nothing more is taken
	coming    map[*writer]bool    // of what is written, those that give way
	order     []storage.ID        // of forgotten, the first one first
	closed    bool
}

// Before has f asked before each operation, whose name it is told: its error is that of the
// operation. It is for tests, before anything else is called.
func (o *Objects) Before(f func(operation string, key storage.ObjectKey) error) { o.before = f }

func (o *Objects) ask(operation string, key storage.ObjectKey) error {
	if o.before == nil {
		return nil
	}
	return o.before(operation, key)
}

// Inventory are the keys of all objects, in order.
func (o *Objects) Inventory() (keys []storage.ObjectKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key := range o.list {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, storage.ObjectKey.Compare)
	return keys
}

// IDs are the versions of which anything is here, in order.
func (o *Objects) IDs() (ids []storage.ID) {
	for _, key := range o.Inventory() {
		ids = append(ids, key.ID)
	}
	return slices.Compact(ids)
}

// OpenObject returns an object for reading; storage.ErrNotFound if it is not here.
func (o *Objects) OpenObject(_ context.Context, key storage.ObjectKey) (storage.PartReader, error) {
	if err := o.ask("open", key); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	found := o.list[key]
	if found == nil || o.closed {
		return nil, fmt.Errorf("%v: %w in the memory of this rank", key, storage.ErrNotFound)
	}
	o.store.extents.share(found.pieces)
	return &reader{object: found, of: o, key: key}, nil
}

// rememberedForgotten is of how many versions it is known that they were forgotten: what comes
// late comes soon.
const rememberedForgotten = 64

// Forget drops all that is here of a version, and refuses what still comes of it.
func (o *Objects) Forget(id storage.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.forgotten[id] {
		o.forgotten[id] = true
		o.order = append(o.order, id)
	}
	if len(o.order) > rememberedForgotten {
		delete(o.forgotten, o.order[0])
		o.order = slices.Delete(o.order, 0, 1)
	}
	for key, object := range o.list {
		if key.ID == id {
			delete(o.list, key)
			o.store.extents.giveBack(object.pieces)
		}
	}
}

// check returns an error if nothing of a version is taken. The lock is held.
func (o *Objects) check(key storage.ObjectKey) error {
	switch {
	case o.closed:
		return errClosed
	case o.forgotten[key.ID]:
		return fmt.Errorf("%v: %w", key, storage.ErrCalledOff)
	}
	return nil
}

// publish puts an object in the place of the one of its key.
func (o *Objects) publish(key storage.ObjectKey, w *writer) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.check(key); err != nil {
		return err
	}
	w.made.spare = o.coming[w]
	if old := o.list[key]; old != nil {
		o.store.extents.giveBack(old.pieces)
	}
	o.list[key] = &w.made
	return nil
}

func (o *Objects) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, object := range o.list {
		o.store.extents.giveBack(object.pieces)
	}
	clear(o.list)
}

// Damage flips a bit of an object; it is for tests.
func (o *Objects) Damage(key storage.ObjectKey, bit int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if found := o.list[key]; found != nil {
		found.cut(bit/8%found.size, 1)[0].bytes()[0] ^= 1 << (bit % 8)
	}
}
