package checkpoint

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
)

// milestoneEnd is a job on nodes that is asked to end when it has just called Milestone.
type milestoneEnd struct {
	*memoryWorld
	slow  string        // what does not come home from node 1: part of its path; "": all does
	over  chan struct{} // closed when the job has ended
	left  time.Duration
	early bool // the milestone is the version before the last one
	ended sync.Map
}

func newMilestoneEnd(t *testing.T, mode string, left time.Duration) *milestoneEnd {
	m := &milestoneEnd{memoryWorld: newMemoryWorld(t, 2, 2, "partner", inMode(mode), WithKeep(1)), over: make(chan struct{}), left: left}
	m.atHome = func(r *afttest.Rank, op vfs.Op) error {
		if m.slow == "" || r.Node() != 1 || !strings.Contains(op.String(), m.slow) {
			return nil
		}
		if m.early { // what hangs would hold up the last version, too
			return errLost
		}
		<-m.over
		return nil
	}
	m.step = m.end
	m.refused = func(p *memoryProgram, err error) error {
		m.ended.Store(p.c.Rank(), err)
		if barrier := comm.Barrier(t.Context(), p.c); barrier != nil {
			return barrier
		}
		if p.c.Rank() == 0 {
			close(m.over)
		}
		return err
	}
	return m
}

func (m *milestoneEnd) end(p *memoryProgram) error {
	if p.iter != 5 {
		return nil
	}
	err := p.cp.Milestone("warm")
	if m.early {
		err = errors.Join(err, p.cp.UpdateAndWrite(m.t.Context(), p.iter, 1))
	}
	err = errors.Join(err, comm.Barrier(m.t.Context(), p.c))
	if p.c.Rank() == 0 {
		m.cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: m.left})
	}
	return errors.Join(err, eventually(func() bool {
		end, _ := p.cp.meet.point.End()
		p.cp.meet.point.Plan() // who has heard of the end waits at the next call from then on
		return end != nil
	}))
}

// elsewhere is what follows when the nodes are given to others.
func (m *milestoneEnd) elsewhere(options ...Option) (from int) {
	for i := range m.nodes {
		m.nodes[i] = vfs.NewMem()
	}
	m.step, m.refused = nil, nil
	m.run(options...)
	return m.restarts[len(m.restarts)-1]
}

func (m *milestoneEnd) marks() (numbers []uint64) {
	home, err := filestore.New(filestore.Config{Path: "/pfs", Name: "prog", FS: m.home})
	require.NoError(m.t, err)
	all, err := filestore.MarksOf(home).Named()
	require.NoError(m.t, err)
	for _, one := range all {
		numbers = append(numbers, one.ID.Version)
	}
	return numbers
}

// A milestone at the end does not hold it up: one that cannot be brought home, or not in time, is none, and all ranks say so.
func TestMilestoneAtTheEndWithoutTime(t *testing.T) {
	for _, mode := range modes {
		for _, early := range []bool{false, true} {
			if early && mode == "off" {
				continue // it would not be the end that it holds up
			}
			m := newMilestoneEnd(t, mode, 300*time.Millisecond)
			m.slow, m.early = "v-000006-", early
			require.ErrorIs(t, m.job(), ErrDeadline)
			for rank := range 2 {
				var d *DeadlineError
				err, _ := m.ended.Load(comm.Rank(rank))
				require.ErrorAs(t, err.(error), &d)
				require.True(t, d.Saved)
				require.Equal(t, early, d.Level == 0, "the last version comes home: %v", d)
				require.ErrorContains(t, d, "version 6 is stored, but is no milestone (warm)")
				if !early {
					require.ErrorContains(t, d, "the time for it is over")
				}
				require.Equal(t, ExitRequeue, ExitCode(d))
			}
			require.Contains(t, m.log.String(), "a milestone is not made")
			require.Empty(t, m.marks())
			if early {
				require.Equal(t, 6, m.elsewhere())
			}
		}
	}
}

// A milestone that is on its way home when the end is asked for lets the last version go first.
func TestMilestoneWhenTheEndIsAskedFor(t *testing.T) {
	m := newMilestoneEnd(t, "off", 300*time.Millisecond)
	m.slow = "v-000006-"
	stuck := m.atHome
	var once sync.Once
	m.atHome = func(r *afttest.Rank, op vfs.Op) error {
		if strings.Contains(op.String(), m.slow) && r.Node() == 1 {
			once.Do(func() {
				m.cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: m.left})
			})
		}
		return stuck(r, op)
	}
	m.step = func(p *memoryProgram) error {
		if p.iter == 5 {
			return p.cp.Milestone("warm")
		}
		return nil
	}
	m.until = 1000
	require.ErrorIs(t, m.job(), ErrDeadline)
	for rank := range 2 {
		var d *DeadlineError
		err, _ := m.ended.Load(comm.Rank(rank))
		require.ErrorAs(t, err.(error), &d)
		require.True(t, d.Saved)
		require.Greater(t, d.Version, uint64(6))
		require.ErrorContains(t, d, "version 6 is stored, but is no milestone (warm)")
	}
	require.Empty(t, m.marks())
}

// One that waits for a last version which never comes is said to be none.
func TestMilestoneThatNobodyMakes(t *testing.T) {
	w, over := newMemoryWorld(t, 2, 2, "partner"), make(chan struct{})
	w.atHome = func(r *afttest.Rank, op vfs.Op) error {
		if r.Node() == 1 && strings.Contains(op.String(), "v-000006-") {
			w.cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: time.Hour})
			<-over
		}
		return nil
	}
	w.step = func(p *memoryProgram) error {
		if p.iter != 5 {
			return nil
		}
		err := errors.Join(p.cp.Milestone("warm"), p.cp.UpdateAndWrite(t.Context(), p.iter, 1), comm.Barrier(t.Context(), p.c))
		if p.c.Rank() == 0 {
			close(over)
		}
		return errors.Join(err, errLost)
	}
	require.ErrorContains(t, w.job(), errLost.Error())
	require.Contains(t, w.log.String(), "a milestone waits for the last version of the job")
	require.Contains(t, w.log.String(), "a milestone is not made: the attempt has ended before")
}

// So is one that was asked for before the call at which a checkpoint in the loop ended the job.
func TestMilestoneBeforeTheEndInALoop(t *testing.T) {
	dir, p := t.TempDir(), demand.NewLocal()
	opts := []Option{WithPath(dir), withPoint(p), WithLogger(slog.New(slog.DiscardHandler))}
	outer, err1 := New("outer", nil, opts...)
	inner, err2 := New("inner", nil, opts...)
	require.NoError(t, errors.Join(err1, err2))
	x := 1
	require.NoError(t, errors.Join(outer.Add("x", &x), outer.Commit(), inner.Add("x", &x), inner.Commit(), outer.SubCP(inner)))
	require.NoError(t, errors.Join(outer.RestartIfNeeded(t.Context(), nil), inner.RestartIfNeeded(t.Context(), nil), outer.Milestone("warm")))
	p.Ask(end("SIGTERM"))
	err := inner.UpdateAndWrite(t.Context(), 0, 1)
	var d *DeadlineError
	require.ErrorAs(t, err, &d)
	require.True(t, d.Saved)
	require.ErrorContains(t, d, "no version is stored that would be the milestone warm")
	require.NoError(t, errors.Join(inner.Close(), outer.Close()))
}

// With time it is one, and can be gone back to from other nodes: also if a newer version is the only one that is kept otherwise.
func TestMilestoneAtTheEndWithTime(t *testing.T) {
	for _, mode := range modes {
		for _, early := range []bool{false, true} {
			m := newMilestoneEnd(t, mode, time.Hour)
			m.early = early
			require.ErrorIs(t, m.job(), ErrDeadline)
			require.Equal(t, []uint64{6}, m.marks())
			m.until = 8
			require.Equal(t, 6, m.elsewhere())
			m.until = 7
			require.Equal(t, 6, m.elsewhere(WithRestartFrom("milestone=warm")))
		}
	}
}

// At the end a milestone is written as the plan says, which may be quicker, and keeps what it refers to. Without a limit it is whole.
func TestMilestoneAtTheEndWithDelta(t *testing.T) {
	for _, left := range []time.Duration{time.Hour, demand.NoLimit} {
		dir, p, sum := t.TempDir(), demand.NewLocal(), make([]float64, 1<<17)
		run := func(p *demand.Point, until int, options ...Option) (from int, err error) {
			cp, err := New("prog", nil, append([]Option{WithPath(dir), withPoint(p), WithKeep(1), WithDelta(100), WithLogger(slog.New(slog.DiscardHandler))}, options...)...)
			require.NoError(t, err)
			defer func() { require.NoError(t, cp.Close()) }()
			require.NoError(t, errors.Join(cp.Add("sum", &sum), cp.Commit()))
			iter := 0
			require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
			for from = iter; iter < until; iter++ {
				sum[0]++
				if p != nil && iter == 5 {
					require.NoError(t, cp.Milestone("last"))
					p.Ask(demand.Demand{Cause: demand.Deadline, Source: "x", Left: left})
				}
				if err := cp.UpdateAndWrite(t.Context(), iter, 1); err != nil {
					return from, err
				}
			}
			return from, nil
		}
		_, err := run(p, 10)
		require.ErrorIs(t, err, ErrDeadline)
		marks, err := filestore.MarksOf((&countingJob{dir: dir}).home(t)).List()
		require.NoError(t, err)
		require.Len(t, marks, 1)
		require.EqualValues(t, 6, marks[0].ID.Version)
		require.Equal(t, left != demand.NoLimit, marks[0].Oldest != 0, "%+v", marks[0])
		from, err := run(demand.NewLocal(), 40)
		require.NoError(t, err)
		require.Equal(t, 6, from)
		from, err = run(nil, 6, WithRestartFrom("milestone=last"))
		require.NoError(t, err)
		require.Equal(t, 6, from)
		require.EqualValues(t, 6, sum[0])
	}
}
