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
	require.Empty(t, d.Renew(time.Now(), []Member{1, 2}))
	require.Empty(t, d.Passed(time.Now(), 1, Passed{Serial: serial, Changed: true}))
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
