package demand

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// said is what a process has told the decider.
type said struct {
	asked  []Demand
	passed []Passed
}

func (s *said) Ask(d Demand)    { s.asked = append(s.asked, d) }
func (s *said) Passed(p Passed) { s.passed = append(s.passed, p) }

var theEnd = Demand{Cause: Deadline, Source: "x", Left: time.Hour}

// A lane that is opened between the answer and the decision would never meet, and one that is closed has nobody who comes.
func TestLanesChangeBeforeTheDecision(t *testing.T) {
	up := new(said)
	p := NewPoint(up)
	p.Hold(time.Now(), Hold{Serial: 1, Demands: []Demand{theEnd}})
	lane := p.Join(World)
	require.Len(t, up.passed, 1, "while it waits for the decision it says nothing")
	p.Meet(Meet{Serial: 1})
	require.Equal(t, Passed{Serial: 1, Changed: true}, up.passed[1])

	p.Hold(time.Now(), Hold{Serial: 2, Demands: []Demand{theEnd}})
	lane.Leave()
	p.Meet(Meet{Serial: 2, Lanes: []Position{{Lane: World, Calls: 1}}})
	require.Equal(t, Passed{Serial: 2, Changed: true}, up.passed[3])

	p.Hold(time.Now(), Hold{Serial: 3, Demands: []Demand{theEnd}})
	p.Meet(Meet{Serial: 3, Lanes: []Position{{Lane: "others", Calls: 1}}})
	require.Len(t, up.passed, 5, "it has nothing to do with the lanes of others")
}

// An answer of a generation before, when nothing is asked for any more, has nobody wait.
func TestOldNewsHaveNobodyWait(t *testing.T) {
	d := NewDecider()
	d.Renew(time.Now(), []Member{1, 2})
	out, first := d.Ask(time.Now(), Demand{Source: "x", Left: NoLimit})
	require.True(t, first)
	serial := out[0].Hold.Serial
	for m := range Member(2) {
		out = d.Passed(time.Now(), 1+m, Passed{Serial: serial, Lanes: []Position{{Open: true, Calls: 7}}})
	}
	require.Equal(t, []Position{{Calls: 8}}, out[0].Meet.Lanes)
	require.Empty(t, d.Passed(time.Now(), 2, Passed{Serial: serial, Lanes: []Position{{}}, Stored: true}))
	require.Empty(t, d.Renew(time.Now(), []Member{1, 2}))
	require.Empty(t, d.Passed(time.Now(), 1, Passed{Serial: serial, Changed: true}))
}

// Of lanes that meet by themselves each has to store its own: what one has not is asked for again, with what has
// come since, but once, and not of a job that is to end.
func TestWhatIsNotStoredIsAskedForAgain(t *testing.T) {
	saves := func(now time.Time, d *Decider, stored []string) (list []Demand) {
		d.Renew(now, []Member{1})
		for _, source := range []string{"a", "b"} {
			out, _ := d.Ask(now, Demand{Source: source, Left: NoLimit})
			now = now.Add(together)
			serial := out[0].Hold.Serial
			d.Passed(now, 1, Passed{Serial: serial, Lanes: []Position{{Lane: "x", Open: true}, {Lane: "y", Open: true}}})
			for _, lane := range stored {
				d.Passed(now, 1, Passed{Serial: serial, Lanes: []Position{{Lane: lane}}, Stored: true})
			}
		}
		require.Len(t, d.Saves(now), map[bool]int{true: 0, false: 2}[len(stored) == 2])
		d.Ask(now, Demand{Source: "c", ID: "7", Left: NoLimit})
		if out := d.Renew(now, []Member{1}); len(out) > 0 {
			list = out[0].Hold.Demands
		}
		return list
	}
	again := Demand{Source: "a", Left: NoLimit}
	asked := Demand{Source: "c", ID: "7", Left: NoLimit}
	now := time.Now()
	require.Equal(t, []Demand{asked, again}, saves(now, NewDecider(), nil))
	require.Equal(t, []Demand{asked, again}, saves(now, NewDecider(), []string{"y"}))
	require.Equal(t, []Demand{asked}, saves(now, NewDecider(), []string{"y", "x"}))

	d := NewDecider()
	d.Renew(now, []Member{1})
	out, _ := d.Ask(now, again)
	d.Passed(now, 1, Passed{Serial: out[0].Hold.Serial, Lanes: []Position{{Open: true}}})
	d.Ask(now, Demand{Cause: Deadline, Source: "end", Left: NoLimit})
	out = d.Renew(now, []Member{1})
	require.Len(t, out[0].Hold.Demands, 1, "the end stores a version")
}

// A version that a process is asked for before it is part of a job is one of the first job.
func TestASaveBeforeAJob(t *testing.T) {
	p := NewProcess()
	for range 2 {
		p.Ask(Demand{Source: "SIGUSR1", Left: NoLimit})
	}
	for _, want := range []int{1, 0} {
		got := 0
		p.Join(func(Demand) { got++ })
		require.Equal(t, want, got)
	}
}

// A signal that goes to all processes of a job is one request for a version; the same process may ask again.
func TestOneVersionForAllWhoAsk(t *testing.T) {
	d, now := NewDecider(), time.Now()
	d.Renew(now, []Member{1})
	ask := func(source, id string) (first bool) {
		out, first := d.Ask(now, Demand{ID: id, Source: source, Left: NoLimit})
		if first {
			d.Passed(now, 1, Passed{Serial: out[0].Hold.Serial, Lanes: []Position{{Open: true}}})
		}
		return first
	}
	require.True(t, ask("SIGUSR1 at rank 0", ""))
	require.False(t, ask("SIGUSR1 at rank 1", ""))
	require.True(t, ask("SIGUSR1 at rank 1", ""))
	require.True(t, ask("craft checkpoint", "7"), "who waits for an answer gets one")
	now = now.Add(together)
	require.True(t, ask("SIGUSR1 at rank 2", ""))
}

// Requests of several before a call has come are one version.
func TestWaitingRequestsAreOne(t *testing.T) {
	d, now := NewDecider(), time.Now()
	_, first := d.Ask(now, Demand{Source: "a", Left: NoLimit})
	require.True(t, first)
	_, first = d.Ask(now.Add(time.Hour), Demand{Source: "a", Left: NoLimit})
	require.False(t, first)
	_, first = d.Ask(now, Demand{Source: "a", For: "inner", Left: NoLimit})
	require.True(t, first)
	out := d.Renew(now, []Member{1})
	require.Len(t, out[0].Hold.Demands, 2)
}
