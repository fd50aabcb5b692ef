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

// writing reports whether a version of another checkpoint of the job, in this one or beside it, is being written in the background. It
// may be complete before anybody knows.
func (s *sideBySide) writing(l *lineage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.open {
		if slices.ContainsFunc(all, func(o *meetings) bool {
			return o.line.flight.Load() != nil && o.line.demands == l.demands && o.line != l
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
			if decided && o.leveled() && !o.line.isIn(m.line) && !m.line.isIn(o.line) {
				out = append(out, o)
			}
		}
	}
	return out
}

// seat is a checkpoint as all its ranks call it.
type seat struct {
	Path    []string // names, from the outermost checkpoint to this one
	Attempt string   // also of names that are used in several directories
	Ranks   int

	everywhere bool // all its ranks have it
}

func (m *meetings) seat() seat {
	return seat{Path: m.line.path(), Attempt: hex.EncodeToString(m.line.attempt.id[:]), Ranks: m.comm.Size()}
}

func (s seat) String() string { return strings.Join(s.Path, "/") + " " + s.Attempt }

// seats are those of all ranks, those around others first, and in the same order everywhere: each is met by all its ranks before the next
// one.
func seats(ctx context.Context, m *meetings, mine []seat) (all []seat, err error) {
	if some, err := comm.AllreduceOne(ctx, m.comm, bit(len(mine) > 0), comm.Max[int64]); err != nil || some == 0 {
		return nil, err
	}
	data, err := json.Marshal(mine)
	if err != nil {
		return nil, err
	}
	told, err := comm.AllgatherBytes(ctx, m.comm, data)
	if err != nil {
		return nil, err
	}
	for _, data := range told {
		var of []seat
		if err := json.Unmarshal(data, &of); err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	slices.SortFunc(all, func(a, b seat) int {
		return cmp.Or(cmp.Compare(len(a.Path), len(b.Path)), slices.Compare(a.Path, b.Path), cmp.Compare(a.Attempt, b.Attempt))
	})
	have := 0
	for i := range all {
		if have++; i+1 < len(all) && all[i].String() == all[i+1].String() {
			continue
		}
		all[i].everywhere, have = have == all[i].Ranks, 0
	}
	slices.Reverse(all) // the last one of each was counted
	all = slices.CompactFunc(all, func(a, b seat) bool { return a.String() == b.String() })
	slices.Reverse(all)
	return all, nil
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
	mine := make(map[string]*meetings)
	var offered []seat
	for _, o := range opened.beside(m) {
		if !o.calling.TryLock() { // another goroutine is in a call
			continue
		}
		defer o.calling.Unlock()
		if o.line.attempt.begun {
			s := o.seat()
			mine[s.String()], offered = o, append(offered, s)
		}
	}
	all, err := seats(ctx, m, offered)
	for _, s := range all {
		var one error
		switch o := mine[s.String()]; {
		case !s.everywhere:
			one = fmt.Errorf("checkpoint %q, beside this one: its last version is not brought to the parallel file system: %w: on some of its ranks it is closed, or another goroutine is in a call of it",
				strings.Join(s.Path, "/"), ErrState)
		case o != nil:
			one = oneBesideHome(ctx, patience, o)
		}
		if err = errors.Join(err, one); commFailed(one) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// oneBesideHome does so with one.
func oneBesideHome(ctx, patience context.Context, o *meetings) error {
	if err := o.out.wait(ctx); commFailed(err) || ctx.Err() != nil {
		return err
	} // else it was the program's to learn, and the one before is brought home
	if there, err := wasHome(ctx, o); there || err != nil {
		return err
	}
	return o.out.goHome(ctx, patience)
}
