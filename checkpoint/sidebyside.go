package checkpoint

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/craft-go/craft/aft/comm"
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
			// What it is nested in may change until it has begun.
			return o.line.flight.Load() != nil && o.line.demands == l.demands && !o.line.isIn(l)
		}) {
			return true
		}
	}
	return false
}

// beside are those beside m that have something on nodes: of m's ranks, and where m is of all ranks of the job, for which it decides, of
// parts of these as well. What is around m goes home with it, and what is in m is of a stage that has ended.
func (s *sideBySide) beside(m *meetings) (out []*meetings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for lane, all := range s.open {
		for _, o := range all {
			decided := lane == m.lane || m.world && o.point == m.point
			if decided && o.leveled() && o.line.attempt.begun && !o.line.isIn(m.line) && !m.line.isIn(o.line) {
				out = append(out, o)
			}
		}
	}
	return out
}

// seat is a checkpoint as all its ranks call it.
type seat struct {
	Path    []string // names, from the outermost checkpoint to this one
	Attempt string   // also of names that parts of the ranks use in directories of their own
	Ranks   int
}

// by is the order of checkpoints; 0: both are the same one.
func (s seat) by(o seat) int {
	return cmp.Or(cmp.Compare(len(s.Path), len(o.Path)), slices.Compare(s.Path, o.Path), cmp.Compare(s.Attempt, o.Attempt))
}

func (m *meetings) seat() seat {
	return seat{m.line.path(), hex.EncodeToString(m.line.attempt.id[:]), m.comm.Size()}
}

// seats are those of all ranks, those around others first, and in the same order everywhere: each is met by all its ranks before the next
// one. everywhere: all its ranks have it.
func seats(ctx context.Context, m *meetings, mine []seat) (all []seat, everywhere []bool, err error) {
	data, err := json.Marshal(mine)
	if err != nil {
		return nil, nil, err
	}
	told := [][]byte{data}
	if m.comm.Size() > 1 {
		if told, err = comm.AllgatherBytes(ctx, m.comm, data); err != nil {
			return nil, nil, err
		}
	}
	for _, data := range told {
		var of []seat
		if err := json.Unmarshal(data, &of); err != nil {
			return nil, nil, err
		}
		all = append(all, of...)
	}
	slices.SortFunc(all, seat.by)
	for i, s := range all {
		have := 1
		for i+have < len(all) && all[i+have].by(s) == 0 {
			have++
		}
		everywhere = append(everywhere, have == s.Ranks)
	}
	first := 0
	for i, s := range all { // the first one of each has been counted
		if i == 0 || all[i-1].by(s) != 0 {
			all[first], everywhere[first] = s, everywhere[i]
			first++
		}
	}
	return all[:first], everywhere[:first], nil
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
// any more. patience is how long each rank waits. What fails for some of the ranks all of them learn.
func besideHome(ctx, patience context.Context, m *meetings) (err error) {
	if m.lane == nil {
		return nil
	}
	beside := opened.beside(m)
	var mine []seat
	for _, o := range beside {
		mine = append(mine, o.seat())
	}
	all, everywhere, err := seats(ctx, m, mine)
	if err != nil || len(all) == 0 {
		return err
	}
	for i, s := range all {
		at := slices.IndexFunc(mine, func(o seat) bool { return o.by(s) == 0 })
		var one error
		switch {
		case !everywhere[i]:
			one = notBroughtHome(s, errors.New("it is closed on some of the ranks"))
		case at >= 0:
			one = oneBesideHome(ctx, patience, beside[at])
		}
		if err = errors.Join(err, one); commFailed(one) || ctx.Err() != nil {
			return err
		}
	}
	_, err = m.agree(ctx, err)
	return err
}

func notBroughtHome(s seat, why error) error {
	return fmt.Errorf("checkpoint %q, beside this one: its last version is not brought to the parallel file system: %w", strings.Join(s.Path, "/"), why)
}

// oneBesideHome does so with one, if it is in no call on all its ranks.
func oneBesideHome(ctx, patience context.Context, o *meetings) (err error) {
	var mine error
	if o.calling.TryLock() {
		defer o.calling.Unlock()
	} else {
		mine = errors.New("another goroutine is in a call of it")
	}
	if _, err := o.agree(ctx, mine); err != nil {
		return notBroughtHome(o.seat(), err)
	}
	if err := o.out.wait(ctx); commFailed(err) || ctx.Err() != nil {
		return err
	} // else it was the program's to learn, and the one before is brought home
	if there, err := wasHome(ctx, o); there || err != nil {
		return err
	}
	return o.out.goHome(ctx, patience)
}
