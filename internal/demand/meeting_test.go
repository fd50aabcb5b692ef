package demand

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// job is a decider and the points of its processes, whose events are handled one at a time and
// in one order, as by the root of a job.
type job struct {
	decider *Decider
	points  []*Point
	events  chan func()
	over    chan struct{}
}

type uplink struct {
	job *job
	id  Member
}

func (u uplink) Ask(d Demand) {
	u.job.post(func() []Out { out, _ := u.job.decider.Ask(time.Now(), d); return out })
}

func (u uplink) Passed(p Passed) {
	u.job.post(func() []Out { return u.job.decider.Passed(time.Now(), u.id, p) })
}

func newJob(t *testing.T, ranks int) *job {
	j := &job{decider: NewDecider(), events: make(chan func(), 1<<16), over: make(chan struct{})}
	var members []Member
	for i := range ranks {
		j.points = append(j.points, NewPoint(uplink{j, Member(i)}))
		members = append(members, Member(i))
	}
	j.decider.Renew(time.Now(), members)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case event := <-j.events:
				event()
			case <-j.over:
				return
			}
		}
	})
	t.Cleanup(func() { close(j.over); running.Wait() })
	return j
}

func (j *job) post(decide func() []Out) {
	j.events <- func() { j.send(decide()) }
}

func (j *job) send(out []Out) {
	for _, o := range out {
		for _, p := range j.points {
			if o.Hold != nil {
				p.Hold(time.Now(), *o.Hold)
			} else {
				p.Meet(*o.Meet)
			}
		}
	}
}

// Ranks that are any number of calls apart, some of which wait for nobody, save and end at the same calls.
func TestAllMeetAtOneCall(t *testing.T) {
	random := testseed.Rand(t)
	for range 200 {
		ranks, calls := 1+random.IntN(6), 50+random.IntN(300)
		j := newJob(t, ranks)
		saved, ended := make([][]uint64, ranks), make([]uint64, ranks)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var running sync.WaitGroup
		for rank, p := range j.points {
			yields := 1 + random.IntN(20)
			running.Go(func() {
				lane := p.Join(World)
				defer lane.Leave()
				for call := uint64(1); call <= uint64(calls); call++ {
					for range yields {
						time.Sleep(0)
					}
					m, err := lane.Call(ctx)
					switch {
					case err != nil || m != nil && m.Over:
						return
					case m != nil && m.Ends() != nil:
						ended[rank] = call
						lane.Done(m)
						return
					case m != nil:
						saved[rank] = append(saved[rank], call)
						lane.Done(m)
					}
				}
			})
		}
		for range random.IntN(4) {
			j.points[random.IntN(ranks)].Ask(Demand{Source: "save", Left: NoLimit})
		}
		j.points[random.IntN(ranks)].Ask(Demand{Cause: Deadline, Source: "end", Left: time.Hour})
		running.Wait()
		require.NoError(t, ctx.Err(), "ranks wait for each other")
		cancel()
		for rank := range ranks {
			require.Equal(t, saved[0], saved[rank])
			require.Equal(t, ended[0], ended[rank])
		}
	}
}

func TestCallOfNobody(t *testing.T) {
	p := NewLocal()
	p.Ask(Demand{Cause: Halt, Source: "x", Left: NoLimit}) // before there is a lane
	lane := p.Join(World)
	m, err := lane.Call(t.Context())
	require.NoError(t, err)
	require.NotNil(t, m)
	require.Equal(t, Halt, m.Ends().Cause)
	require.False(t, m.Over)
	lane.Done(m)
	m, err = lane.Call(t.Context())
	require.NoError(t, err)
	require.True(t, m.Over)
}

// A version that one checkpoint cannot write is left for the next call.
func TestMeetingStaysUntilDone(t *testing.T) {
	p := NewLocal()
	lane := p.Join(World)
	m, err := lane.Call(t.Context())
	require.NoError(t, err)
	require.Nil(t, m)
	p.Ask(Demand{Source: "x", Left: NoLimit})
	for range 3 {
		m, err = lane.Call(t.Context())
		require.NoError(t, err)
		require.NotNil(t, m)
	}
	lane.Done(m)
	m, err = lane.Call(t.Context())
	require.NoError(t, err)
	require.Nil(t, m)
}

// Lanes of fewer ranks go on while one of all ranks is open, and have meetings of their own when it is closed.
func TestLanesOfFewerRanks(t *testing.T) {
	j := newJob(t, 2)
	world := []*Lane{j.points[0].Join(World), j.points[1].Join(World)}
	parts := []*Lane{j.points[0].Join("a"), j.points[1].Join("b")}
	j.points[1].Ask(Demand{Cause: Deadline, Source: "x", Left: time.Hour})
	for rank, l := range parts {
		waitFor(t, func() bool { d, _ := j.points[rank].End(); return d != nil })
		m, err := l.Call(t.Context())
		require.NoError(t, err)
		require.Nil(t, m, "the lane of all ranks decides")
	}
	for _, l := range world {
		l.Leave()
	}
	for _, l := range parts {
		ended := false
		for range 1000 {
			m, err := l.Call(t.Context())
			require.NoError(t, err)
			if ended = m != nil && m.Ends() != nil; ended {
				break
			}
			time.Sleep(time.Millisecond) // the decision is on its way
		}
		require.True(t, ended)
	}
}

func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	require.Eventually(t, is, 10*time.Second, time.Millisecond)
}

func TestDeadlineOnlyGetsShorter(t *testing.T) {
	p, now := NewLocal(), time.Now()
	p.Ask(Demand{Cause: Deadline, Source: "SIGTERM", Left: time.Hour})
	p.Ask(Demand{Cause: Deadline, Source: "SIGTERM", Left: 2 * time.Hour})
	d, _ := p.End()
	require.InDelta(t, time.Hour, d.Deadline.Sub(now), float64(time.Minute))
	p.Ask(Demand{Cause: Interrupt, Source: "SIGINT", Left: time.Minute})
	d, _ = p.End()
	require.InDelta(t, time.Minute, d.Deadline.Sub(now), float64(30*time.Second))
	require.Equal(t, Deadline, d.Cause, "the first one counts")
}

// A halt counts, whatever else has asked for the end before: the job is not to be started again by itself.
func TestHaltAfterADeadline(t *testing.T) {
	p := NewLocal()
	p.Ask(Demand{Cause: Deadline, Source: "SIGTERM", Left: time.Hour})
	p.Ask(Demand{Cause: Halt, Source: "craft halt", Left: NoLimit})
	p.Ask(Demand{Cause: Interrupt, Source: "SIGINT", Left: NoLimit})
	d, _ := p.End()
	require.Equal(t, Halt, d.Cause)
	require.NotZero(t, d.Deadline)
}

func TestPlans(t *testing.T) {
	p := NewLocal()
	plan := func(source string, left time.Duration) {
		p.Ask(Demand{Cause: Deadline, Planned: true, Source: source, Left: left})
	}
	plan("a", 2*time.Hour)
	plan("b", time.Hour)
	require.Equal(t, "b", p.Plan().Source)
	plan("b", NoLimit)
	require.Equal(t, "a", p.Plan().Source)
	end, _ := p.End()
	require.Nil(t, end)
}

// After a repair all come to the end once more, and count from zero.
func TestRepairBeginsAnew(t *testing.T) {
	j := newJob(t, 2)
	lanes := []*Lane{j.points[0].Join(World), j.points[1].Join(World)}
	j.points[0].Ask(Demand{Cause: Deadline, Source: "x", Left: time.Hour})
	waitFor(t, func() bool { d, _ := j.points[1].End(); return d != nil })
	m, err := lanes[0].Call(t.Context())
	require.NoError(t, err)
	require.NotNil(t, m)
	lanes[0].Done(m)
	done := make(chan struct{})
	j.events <- func() {
		for _, p := range j.points {
			p.Renew(true)
		}
		j.send(j.decider.Renew(time.Now(), []Member{0, 1}))
		close(done)
	}
	<-done
	for _, l := range lanes {
		m, err := l.Call(t.Context())
		require.NoError(t, err)
		require.NotNil(t, m)
		require.False(t, m.Over)
		require.EqualValues(t, 1, l.Calls())
	}
}

func TestProcessRemembersTheEnd(t *testing.T) {
	p := NewProcess()
	p.Ask(Demand{Cause: Deadline, Source: "SIGTERM", Left: time.Hour})
	own, lane := p.Own()
	require.Equal(t, World, lane)
	d, _ := own.End()
	require.NotNil(t, d)
	var got []string
	p.Join(func(d Demand) { got = append(got, d.Source) })
	p.Ask(Demand{Source: "save", Left: NoLimit})
	require.True(t, slices.Equal([]string{"SIGTERM", "save"}, got))
}

func TestProcessLeadsAJob(t *testing.T) {
	p := NewProcess()
	asked, leave := p.Lead()
	require.Nil(t, asked)
	require.True(t, p.Leads())
	p.Ask(Demand{Cause: Interrupt, Source: "SIGINT", Left: time.Hour})
	asked, leaveToo := p.Lead()
	require.NotNil(t, asked)
	require.Equal(t, Interrupt, asked.Cause)
	leave()
	leave()
	require.True(t, p.Leads())
	leaveToo()
	require.False(t, p.Leads())
}

func BenchmarkCall(b *testing.B) {
	lane := NewLocal().Join(World)
	for b.Loop() {
		_, _ = lane.Call(b.Context())
	}
}
