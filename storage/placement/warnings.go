package placement

import (
	"sync"

	"github.com/craft-go/craft/aft/comm"
)

// warnings are those that a rank has given for a checkpoint. The session keeps them: the next attempt of
// a zone has the same ones to give.
type warnings struct{ given sync.Map }

// warningsKey is that of a checkpoint's.
type warningsKey struct{ dir string }

func (k warningsKey) String() string { return "warnings about the levels of " + k.dir }

var _ comm.Keeper = (*warnings)(nil)

// Rebind implements comm.Keeper.
func (w *warnings) Rebind(*comm.Comm, comm.Change) error { return nil }

// Close implements comm.Keeper.
func (w *warnings) Close() error { return nil }

// warningsOf finds them.
func warningsOf(c Config) *warnings {
	w, err := comm.Keep(c.Comm.Session(), warningsKey{c.Dir}, func() (*warnings, error) { return new(warnings), nil })
	if err != nil { // the session has ended, or does not keep anything
		return new(warnings)
	}
	return w
}

// first reports whether a warning has not been given yet.
func (w *warnings) first(what string) bool {
	_, before := w.given.LoadOrStore(what, nil)
	return !before
}
