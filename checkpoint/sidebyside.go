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

// writing reports whether a version of another checkpoint than l and those in it, of the same point, is being written in the background.
func (s *sideBySide) writing(l *lineage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.open {
		if slices.ContainsFunc(all, func(o *meetings) bool {
			return o.line.demands == l.demands && !o.line.isIn(l) && o.line.flight.Load() != nil
		}) {
			return true
		}
	}
	return false
}

// beside are those beside m that have something on nodes, those around others first. What is around m goes home with it, and what is in m
// is of a stage that has ended.
func (s *sideBySide) beside(m *meetings) (out []*meetings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.open[m.lane] {
		if o.leveled() && o.line.attempt.begun && !o.line.isIn(m.line) && !m.line.isIn(o.line) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *meetings) int {
		return cmp.Or(cmp.Compare(len(a.line.path()), len(b.line.path())), slices.Compare(a.line.path(), b.line.path()))
	})
	return out
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
	if !m.leveled() || m.lane == nil {
		return nil
	}
	here := make(map[string]*meetings)
	var names []string
	for _, o := range opened.beside(m) {
		name := strings.Join(o.line.path(), "/")
		here[name], names = o, append(names, name)
	}
	if names, err = fromRoot(ctx, m.core, names, nil); err != nil {
		return err
	}
	for _, name := range names {
		one := oneBesideHome(ctx, patience, m, here[name], name)
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
		mine = errors.New("it is closed on some of the ranks")
	case !o.calling.TryLock():
		mine = errors.New("another goroutine is in a call of it")
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
