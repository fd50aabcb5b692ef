package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
)

// sideBySide are the open checkpoints of this process by the lane of their calls: those of one lane come in one order on all its ranks.
type sideBySide struct {
	mu   sync.Mutex
	open map[*demand.Lane][]*meetings
}

var opened = sideBySide{open: make(map[*demand.Lane][]*meetings)}

func (s *sideBySide) enter(m *meetings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[m.lane] = append(s.open[m.lane], m)
}

func (s *sideBySide) leave(m *meetings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := slices.DeleteFunc(s.open[m.lane], func(o *meetings) bool { return o == m })
	if s.open[m.lane] = left; len(left) == 0 {
		delete(s.open, m.lane)
	}
}

// beside are those beside m that may have something on nodes, those around others first. What is around m goes home with it, and what
// is in m is of a stage that has ended. Other goroutines may be in calls of them: what these change is not looked at.
func (s *sideBySide) beside(m *meetings) (out []*meetings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.open[m.lane] {
		if o.leveled() && !o.line.isIn(m.line) && !m.line.isIn(o.line) {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b *meetings) int {
		return cmp.Or(cmp.Compare(len(a.line.path()), len(b.line.path())), slices.Compare(a.line.path(), b.line.path()))
	})
	return out
}

// outermost are the checkpoints beside that of m that are nested in no other.
func (s *sideBySide) outermost(m *meetings) (out []*meetings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.open[m.lane] {
		if o.line.parent == nil && o.line != m.line.outermost() {
			out = append(out, o)
		}
	}
	return out
}

// othersBegin notes, around and beside a checkpoint, that a version of it begins in the background.
func (m *meetings) othersBegin() {
	if m.line.parent != nil {
		m.line.outermost().othersBegun.Store(true)
	}
	for _, o := range opened.outermost(m) {
		o.line.othersBegun.Store(true)
	}
}

// recordBeside has the records of the checkpoints beside one tell that it has a version: a start that has stored something is not
// fruitless.
func recordBeside(ctx context.Context, m *meetings) {
	for _, o := range opened.outermost(m) {
		if !o.line.besideStored.Swap(true) {
			amendRecord(context.WithoutCancel(ctx), o.up, func(r *storage.Record) (changed bool) {
				r.BesideWritten = true
				return true
			})
		}
	}
}

// path are the names from the outermost checkpoint to this one.
func (l *lineage) path() (names []string) {
	for p := l; p != nil; p = p.parent {
		names = append(names, p.name)
	}
	slices.Reverse(names)
	return names
}

// isIn reports whether this checkpoint is other, or nested in it.
func (l *lineage) isIn(other *lineage) bool {
	for p := l; p != nil; p = p.parent {
		if p == other {
			return true
		}
	}
	return false
}

// besideHome brings the last versions of the checkpoints beside this one home, at the end of the job: their calls do not come
// any more. patience is how long each rank waits.
func besideHome(ctx, patience context.Context, m *meetings) (err error) {
	here := make(map[string][]*meetings) // several of one name are in different directories, and were opened in the same order everywhere
	var names []string
	for _, o := range opened.beside(m) {
		name := strings.Join(o.line.path(), "/")
		here[name], names = append(here[name], o), append(names, name)
	}
	if names, err = fromRoot(ctx, m.core, names, nil); err != nil {
		return err
	}
	for _, name := range names {
		var o *meetings
		if all := here[name]; len(all) > 0 {
			o, here[name] = all[0], all[1:]
		}
		one := oneBesideHome(ctx, patience, m, o, name)
		if err = errors.Join(err, one); commFailed(one) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// oneBesideHome does so with one, if it is open, and in no call, on all ranks. o is nil where it is not open.
func oneBesideHome(ctx, patience context.Context, m, o *meetings, name string) (err error) {
	var mine error
	switch {
	case o == nil:
		mine = fmt.Errorf("%w: it is closed on some of the ranks", ErrState)
	case !o.calling.TryLock():
		mine = fmt.Errorf("%w: another goroutine is in a call of it", ErrState)
	default:
		defer o.calling.Unlock()
	}
	if _, err := m.agree(ctx, mine); err != nil {
		return fmt.Errorf("checkpoint %q, beside this one: its last version is not brought to the parallel file system: %w", name, err)
	}
	if err := o.out.wait(ctx); commFailed(err) || ctx.Err() != nil {
		return err
	} // else it was the program's to learn, and the one before is brought home
	if there, err := wasHome(ctx, o); there || err != nil {
		return err
	}
	return o.out.goHome(ctx, patience)
}
