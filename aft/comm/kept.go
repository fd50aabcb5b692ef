package comm

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Keeper is something that a rank keeps from one attempt of a zone to the next: memory that
// would be lost with what a body makes, which is closed at each recovery. It has a
// communicator of its own, if it needs one, made with Lasting: that works among those that
// are alive all through a recovery.
type Keeper interface {
	// Rebind tells what a recovery has changed, when c has been repaired and before the body
	// runs again, once for each recovery. It is local: the others may be ahead, or fail, so it
	// must not communicate. Survivors and replacements meet at the first collective call of
	// the next attempt, where a replacement makes its own. After an error it is closed and
	// forgotten, and made anew when somebody asks for it.
	Rebind(c *Comm, change Change) error
	// Close ends it.
	Close() error
}

// ZoneKeeper is a Keeper with something to do when a zone has ended on all ranks, well or with an
// error of a body: a process may end then, without anybody closing what its session keeps.
type ZoneKeeper interface {
	Keeper
	ZoneEnded()
}

// keepers are those of a session, in the order in which they were made.
type keepers struct {
	mu   sync.Mutex
	list []kept
}

type kept struct {
	key  any
	what Keeper
}

// Keep returns what the session keeps under a key, and has make make it if there is nothing. Keys
// are like those of a context: of a type of the package that uses them.
func Keep[T Keeper](s *Session, key any, make func() (T, error)) (T, error) {
	var none T
	there := s.keepers.find(key)
	if there == nil {
		made, err := make()
		if err != nil {
			return none, err
		}
		if there = s.keepers.add(key, made); there != Keeper(made) { // somebody was faster
			if err := made.Close(); err != nil {
				return none, err
			}
		}
	}
	what, ok := there.(T)
	if !ok {
		return none, fmt.Errorf("comm: what the session keeps under %v is a %T, not a %T", key, there, none)
	}
	return what, nil
}

func (k *keepers) find(key any) Keeper {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.at(key)
}

func (k *keepers) at(key any) Keeper {
	for _, one := range k.list {
		if one.key == key {
			return one.what
		}
	}
	return nil
}

// add keeps what, unless there is something, and returns what there is.
func (k *keepers) add(key any, what Keeper) Keeper {
	k.mu.Lock()
	defer k.mu.Unlock()
	if there := k.at(key); there != nil {
		return there
	}
	k.list = append(k.list, kept{key, what})
	return what
}

// all are those that there are; drop forgets one of them.
func (k *keepers) all() []kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.list)
}

func (k *keepers) drop(one kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = slices.DeleteFunc(k.list, func(other kept) bool { return other == one })
}

// Rebind tells all that is kept, in the order in which it was made, of the recovery that there was
// last, and returns the errors of what was dropped.
func (z ZoneSession) Rebind() error {
	var errs []error
	place := z.s.Place()
	for _, k := range z.s.keepers.all() {
		if err := k.what.Rebind(place.Comm, *place.Change); err != nil {
			z.s.keepers.drop(k)
			errs = append(errs, fmt.Errorf("%v: %w", k.key, errors.Join(err, k.what.Close())))
		}
	}
	return errors.Join(errs...)
}

// Ended tells those who want to know that a zone has ended.
func (z ZoneSession) Ended() {
	for _, k := range z.s.keepers.all() {
		if what, ok := k.what.(ZoneKeeper); ok {
			what.ZoneEnded()
		}
	}
}

// Release closes all that is kept, the latest first: the rank's part in the job has ended.
func (z ZoneSession) Release() error {
	var errs []error
	for _, k := range slices.Backward(z.s.keepers.all()) {
		z.s.keepers.drop(k)
		errs = append(errs, k.what.Close())
	}
	return errors.Join(errs...)
}
