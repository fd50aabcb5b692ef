package checkpoint

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/container"
)

// ErrGuard is returned by a write, on all ranks, when a guard has refused a value on one
// of them: no rank has the version, and the earlier ones are as they were. The error is
// a *GuardError there, and has one in it elsewhere. The next write asks the guards again.
var ErrGuard = errors.New("refused by a guard")

// The values of CRAFT_GUARD, and the name of that guard.
const (
	guardOff    = "off"
	guardFinite = "finite"
)

// Finite refuses versions in which a number of the value is infinite or not a number, as
// CRAFT_GUARD=finite does for all values that consist of float32, float64, complex64 or
// complex128. For others, structs among them, it is an error of Add. The bytes are
// looked at that are written: those of the copy, in the mode that makes one.
func Finite() AddOption { return func(e *entry) { e.finite = true } }

// Guard refuses versions for which check returns an error. Each write calls it, where the
// values are captured, after the Update of all, and on the goroutine that has called the
// write. It must not call the checkpoint, nor what needs other ranks: these may not come,
// because a value of theirs has failed before. name is for messages.
func Guard(name string, check func() error) AddOption {
	return func(e *entry) { e.guards = append(e.guards, guard{name, check}) }
}

type guard struct {
	name  string
	check func() error
}

// GuardError says what a guard has refused. It matches ErrGuard and ErrKey.
type GuardError struct {
	Key   string
	Guard string // its name; that of Finite is "finite"
	Rank  comm.Rank
	// Index is that of the first element that Finite has found, in each dimension, of a
	// partitioned value in the global array; nil for a scalar.
	Index []int64
	Value string // of that element, as Go prints it, such as NaN; "": it is not of Finite
	// GoodVersion is the version that was stored or restored last, in the stage of a nested
	// checkpoint, and GoodIteration its iteration or NoIteration; 0: there is none.
	GoodVersion   uint64
	GoodIteration int64
	Err           error `json:"-"` // what the guard has said
}

func (e *GuardError) Error() string {
	what := fmt.Sprint(e.Err)
	switch {
	case e.Value != "" && len(e.Index) > 0:
		what = fmt.Sprintf("element [%s] is %s", join(e.Index, ",", func(i int64) string { return fmt.Sprint(i) }), e.Value)
	case e.Value != "":
		what = "it is " + e.Value
	}
	good := "there is no good version before it"
	if e.GoodVersion > 0 {
		good = fmt.Sprintf("the last good version is %d, of iteration %v", e.GoodVersion, iterationAttr(e.GoodIteration))
	}
	return fmt.Sprintf("key %q: guard %q refuses the version on rank %d: %s; %s", e.Key, e.Guard, e.Rank, what, good)
}

func (e *GuardError) Unwrap() error        { return e.Err }
func (e *GuardError) Is(target error) bool { return target == ErrGuard || target == ErrKey }

// checkGuards returns an error if a guard cannot be asked about the value.
func (e *entry) checkGuards() error {
	for i, g := range e.guards {
		if g.name == "" || g.check == nil {
			return fmt.Errorf("%w: Guard %d of %d, %q: it needs a name and a function", ErrArgument, i+1, len(e.guards), g.name)
		}
	}
	if d := cptypes.DescOf(e.value); e.finite && !d.Elem.Float() {
		return fmt.Errorf("%w: Finite cannot look into %s (allowed: values of float32, float64, complex64 or complex128; for others there is Guard)", ErrArgument, d)
	}
	return nil
}

// askGuards calls those that are functions.
func (r *registry) askGuards() error {
	for _, e := range r.entries {
		for _, g := range e.guards {
			if err := g.check(); err != nil {
				return &GuardError{Key: e.key, Guard: g.name, Rank: r.comm.Rank(), Err: err}
			}
		}
	}
	return nil
}

// mustBeFinite reports whether the numbers of a value are looked at when they are written.
func (r *registry) mustBeFinite(e *entry, d container.Desc) bool {
	return e.finite || r.opt.Guard == guardFinite && d.Elem.Float()
}

// toldUnguarded are the lists of keys of which it was said that nobody looks into them.
var toldUnguarded sync.Map

// tellUnguarded says which values may hold numbers that CRAFT_GUARD does not see.
func (r *registry) tellUnguarded() {
	if r.opt.Guard != guardFinite || !r.opt.Enable {
		return
	}
	var keys []string
	for _, e := range r.entries {
		if cptypes.DescOf(e.value).Elem == container.Opaque {
			keys = append(keys, e.key)
		}
	}
	list := strings.Join(keys, ", ")
	if _, told := toldUnguarded.LoadOrStore(r.dir()+"\x00"+list, true); !told && len(keys) > 0 {
		r.rootLog.Info("CRAFT_GUARD=finite does not look into values that are not made of numbers alone", "keys", list)
	}
}

// explain makes an error of Finite that of this checkpoint, and says to which version the
// program can go back.
func (f *flight) explain(wr *writing) {
	var refusal *GuardError
	var found *container.NotFiniteError
	switch {
	case errors.As(f.err, &refusal):
	case errors.As(f.err, &found):
		refusal = &GuardError{Key: found.Key, Guard: guardFinite, Rank: wr.comm.Rank(), Value: found.Value, Err: found}
		for _, s := range f.done.sections {
			if s.Key == found.Key {
				refusal.Index = indexIn(s.Desc, found.Index)
			}
		}
		f.err = refusal
	default:
		return
	}
	refusal.GoodVersion, refusal.GoodIteration = f.before.Version, f.before.iteration
}

// indexIn is where the element is that is stored at place n, in the global array if there
// is one.
func indexIn(d container.Desc, n int64) []int64 {
	if len(d.Shape) == 0 {
		return nil
	}
	index := make([]int64, len(d.Shape))
	for k := len(index) - 1; k >= 0; k-- {
		index[k], n = n%d.Shape[k], n/d.Shape[k] // no extent is 0: there is an element
		if d.Dist == container.Partitioned {
			index[k] += d.Box.Lo[k]
		}
	}
	return index
}

// noRoom reports that a version was not stored because there is no room for it. What a
// guard says of a disk of its own is not that.
func noRoom(err error) bool { return vfs.IsFull(err) && !errors.Is(err, ErrGuard) }
