package control

import (
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/demand"
)

var (
	takesTerm = []Take{{int(syscall.SIGTERM), demand.TakesEnd}, {int(syscall.SIGUSR1), demand.TakesSave}, {int(syscall.SIGINT), demand.TakesEnd}}
	endDemand = demand.Demand{Cause: demand.Deadline, Source: "x", Left: demand.NoLimit}
)

// taking is a job whose program takes signals for demands.
func taking(t *testing.T, cfg RootConfig) *script {
	s := launched(t, cfg)
	for p := range cfg.Size {
		s.of(Proc(p), Message{Kind: KindHello, Hello: &Hello{Proc: Proc(p), Version: Version, Takes: takesTerm}})
	}
	require.NotNil(t, s.made(0).New)
	s.sent = nil
	return s
}

func (s *script) ask(d demand.Demand) { s.do(s.r.Ask(s.now, d)) }

// hold is the last one that the root has sent.
func (s *script) hold() demand.Hold {
	s.t.Helper()
	list := s.messages(KindHold)
	require.NotEmpty(s.t, list)
	return *list[len(list)-1].Hold
}

// passes has processes of a node answer the last Hold.
func (s *script) passes(n Node, calls uint64, open bool, procs ...Proc) {
	s.t.Helper()
	p := demand.Passed{Serial: s.hold().Serial, Lanes: []demand.Position{{Calls: calls, Open: open}}}
	s.handle(n, Message{Kind: KindPassed, Passed: &Passed{Procs: procs, Passed: p}})
}

// meet is the call that the root has named last; 0: none.
func (s *script) meet() uint64 {
	list := s.messages(KindMeet)
	if len(list) == 0 || len(list[len(list)-1].Meet.Lanes) == 0 {
		return 0
	}
	return list[len(list)-1].Meet.Lanes[0].Calls
}

// meets has the job asked to end, and all ranks of two nodes know the call.
func (s *script) meets(left time.Duration) {
	d := endDemand
	d.Left = left
	s.ask(d)
	for p, n := range s.where {
		s.passes(n, 4, true, p)
	}
	require.EqualValues(s.t, 5, s.meet())
}

func two(size int) RootConfig { return RootConfig{Size: size, Nodes: nodesOf(2, 0)} }

func TestTheFurthestCallIsTheOne(t *testing.T) {
	s := running(t, two(4))
	s.ask(endDemand)
	s.passes(0, 7, true, 0, 1)
	require.Zero(t, s.meet(), "two have not answered")
	s.passes(1, 9, true, 2)
	s.kill(3)
	require.EqualValues(t, 10, s.meet(), "nobody waits for one that has failed")
	kinds := s.kinds()
	require.Less(t, slices.Index(kinds, KindFailed), slices.Index(kinds, KindMeet), "a failure is told before what rests on it")
}

// A daemon speaks for its own processes, and each answers once.
func TestAnswersOfOthers(t *testing.T) {
	s := running(t, two(2))
	s.ask(endDemand)
	s.passes(0, 1, true, 1)
	s.passes(0, 1, true, 0)
	s.passes(0, 1, true, 0)
	require.Zero(t, s.meet())
	s.passes(1, 1, true, 1)
	require.EqualValues(t, 2, s.meet())
}

func TestASignalThatTheProgramTakes(t *testing.T) {
	cfg := two(2)
	cfg.Grace = 10 * time.Second
	s := taking(t, cfg)
	s.do(s.r.Signal(s.now, int(syscall.SIGTERM)))
	require.Empty(t, s.messages(KindSignal))
	d := s.hold().Demands[0]
	require.Equal(t, demand.Demand{Cause: demand.Deadline, Source: "SIGTERM at the launcher", Left: cfg.Grace}, d)
	s.sent = nil
	s.do(s.r.Signal(s.now, int(syscall.SIGTERM)))
	require.Empty(t, s.sent, "the same request")
	s.do(s.r.Signal(s.now, int(syscall.SIGHUP)))
	require.NotEmpty(t, s.messages(KindSignal), "it does not take that one")
	s.do(s.r.Interrupt(s.now))
	require.Equal(t, 130, s.end.Code)
}

// One that has not said so gets signals as any program does, and so do all.
func TestASignalThatNotAllTake(t *testing.T) {
	s := launched(t, two(2))
	s.of(0, Message{Kind: KindHello, Hello: &Hello{Proc: 0, Version: Version, Takes: takesTerm}})
	s.hello(1)
	s.do(s.r.Signal(s.now, int(syscall.SIGTERM)))
	require.Empty(t, s.messages(KindHold))
	require.NotEmpty(t, s.messages(KindSignal))
}

// What is asked for while nobody is there is told to those who come.
func TestDemandsBeforeAWorld(t *testing.T) {
	s := launched(t, two(2))
	s.ask(demand.Demand{Cause: demand.Deadline, Planned: true, Source: "plan", Left: time.Hour})
	s.ask(demand.Demand{Source: "save", Left: demand.NoLimit})
	require.Empty(t, s.messages(KindHold))
	s.hello(0)
	s.hello(1)
	var told []string
	for _, m := range s.messages(KindHold) {
		for _, d := range m.Hold.Demands {
			told = append(told, d.Source)
		}
	}
	require.Equal(t, []string{"plan", "plan", "save", "save"}, told)
	kinds := s.kinds()
	require.Less(t, slices.Index(kinds, KindMade), slices.Index(kinds, KindHold))
}

// A deployment that begins while its ranks are not there yet knows what the last ones have said.
func TestASignalBetweenDeployments(t *testing.T) {
	cfg := two(2)
	s := taking(t, cfg)
	for n := range Node(2) {
		s.do(s.r.Lost(s.now, n, "off", true))
	}
	next, _ := s.r.Sequel(3)
	if next == nil { // nothing is left to deploy it on: the note is what counts
		next = s.r.past(defeat{})
	}
	cfg.Past, next.gone = next, nil
	s = launched(t, cfg)
	s.do(s.r.Signal(s.now, int(syscall.SIGTERM)))
	require.Nil(t, s.end)
	s.hello(0)
	s.hello(1)
	require.Equal(t, demand.Deadline, s.hold().Demands[0].Cause)
}

// Exits of any code after the end was met are no failures; the job has the largest.
func TestExitsAfterTheEnd(t *testing.T) {
	for _, code := range []int{0, 1, requeueCode, haltedCode, interruptedCode} {
		s := running(t, two(2))
		s.meets(time.Minute)
		s.exit(0, code)
		require.Empty(t, s.messages(KindFailed)[0].Failed)
		s.join(1, Join{Op: OpEnd, Verdict: failing()})
		require.True(t, s.made(1).Outcome.Repair)
		s.join(1, Join{Op: OpRepair, Policy: policy(driver.NonShrinking, driver.Reuse), Seq: 1})
		require.Contains(t, s.made(1).Err, "nothing is repaired any more")
		require.Len(t, s.starts, 2, "nobody is started in its place")
		s.exit(1, code)
		require.Equal(t, code, s.end.Code)
		next, _ := s.r.Sequel(10)
		require.Nil(t, next)
	}
}

// The end of a zone does not wait for the bodies of those who have exited as they were asked to.
func TestAZoneEndsWithoutThose(t *testing.T) {
	s := running(t, two(2))
	s.meets(time.Minute)
	s.exit(0, requeueCode)
	s.join(1, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	require.False(t, s.made(1).Outcome.Repair)
}

// Who is killed then is replaced only if the time suffices: what repairs have taken, and some more.
func TestRepairsInTheGrace(t *testing.T) {
	repair := func(left time.Duration) (refused string, replaced bool) {
		s := running(t, two(3))
		s.meets(left)
		s.kill(0)
		s.notes = nil
		for p := Proc(1); p < 3; p++ {
			s.join(p, Join{Op: OpRepair, Policy: policy(driver.NonShrinking, driver.Reuse)})
		}
		if refused = s.made(1).Err; refused != "" {
			require.Equal(t, []string{refused}, s.notes, "for all of them")
		}
		return refused, len(s.starts) > 3
	}
	refused, replaced := repair(usualRepair)
	require.False(t, replaced)
	require.Contains(t, refused, "has 2s left: a repair takes about 2s")
	for _, left := range []time.Duration{usualRepair + repairMargin, demand.NoLimit} {
		refused, replaced = repair(left)
		require.True(t, replaced, refused)
	}
}

// Replacements know what was asked for, and all count anew.
func TestARepairIsAnotherGeneration(t *testing.T) {
	s := running(t, two(2))
	s.meets(time.Minute)
	s.kill(0)
	s.join(1, Join{Op: OpRepair, Policy: policy(driver.NonShrinking, driver.Reuse)})
	before := s.hold().Serial
	s.sent = nil
	s.now = s.now.Add(10 * time.Second)
	s.hello(2)
	require.Greater(t, s.hold().Serial, before)
	require.Equal(t, 50*time.Second, s.hold().Demands[0].Left)
	kinds := s.kinds()
	require.Less(t, slices.Index(kinds, KindMade), slices.Index(kinds, KindHold))
}

// Ranks whose codes say that they have ended as they wanted to are not deployed again.
func TestCodesThatAreNotDeployedAgain(t *testing.T) {
	for code, again := range map[int]bool{requeueCode: false, haltedCode: false, interruptedCode: false, 99: false, 3: true} {
		b := &outbox{requeue: 99}
		p := &process{node: &node{}}
		p.code = code
		require.Equal(t, again, b.defeatOf([]*process{p}) != nil, code)
	}
}

// demanded is a daemon with two ranks that take signals.
func demanded(t *testing.T) (d *Daemon, now time.Time) {
	d, now = NewDaemon(Setup{Node: 3, Size: 2, Timing: testTiming, Grace: time.Minute}), time.Unix(1000, 0)
	d.FromRoot(now, Message{Kind: KindStart, Start: []Start{{Proc: 0}, {Proc: 1, Original: 1}}})
	for p := range Proc(2) {
		d.FromRank(now, p, Message{Kind: KindHello, Hello: &Hello{Version: Version, Takes: takesTerm}})
	}
	return d, now
}

// upOf are the messages of a kind to the root.
func upOf(list []DaemonAction, k Kind) (out []Message) {
	for _, a := range list {
		if a.ToRoot != nil && a.ToRoot.Kind == k {
			out = append(out, *a.ToRoot)
		}
	}
	return out
}

func TestADaemonGathersAnswers(t *testing.T) {
	d, now := demanded(t)
	d.FromRoot(now, Message{Kind: KindHold, Hold: &demand.Hold{Serial: 5, Demands: []demand.Demand{endDemand}}})
	answer := func(p Proc, lane string, calls uint64) []Message {
		return upOf(d.FromRank(now, p, Message{Kind: KindPassed, Passed: &Passed{Passed: demand.Passed{
			Serial: 5, Lanes: []demand.Position{{Calls: calls, Open: p == 0}, {Lane: lane}}}}}), KindPassed)
	}
	require.Empty(t, answer(0, "a", 3))
	got := answer(1, "b", 4)
	require.Equal(t, []Message{{Kind: KindPassed, Passed: &Passed{Procs: []Proc{0, 1}, Passed: demand.Passed{
		Serial: 5, Lanes: []demand.Position{{Calls: 4, Open: true}, {Lane: "a"}, {Lane: "b"}}}}}}, got)
	require.Empty(t, answer(1, "b", 5), "it has answered")

	d.FromRoot(now, Message{Kind: KindHold, Hold: &demand.Hold{Serial: 5}})
	require.Empty(t, answer(0, "a", 3))
	got = upOf(d.Exited(now, Exit{Proc: 1, Code: 1}), KindPassed)
	require.Len(t, got, 1, "it waits for nobody who has ended")
	require.Equal(t, []Proc{0}, got[0].Passed.Procs)
}

// A batch system signals all processes: the daemon says so once, and to the root alone.
func TestADaemonIsSignalled(t *testing.T) {
	d, now := demanded(t)
	asks := upOf(d.Signalled(now, int(syscall.SIGTERM)), KindAsk)
	require.Equal(t, []Message{{Kind: KindAsk, Ask: &demand.Demand{Cause: demand.Deadline, Source: "SIGTERM at node 3", Left: time.Minute}}}, asks)
	again := endDemand
	again.Left = time.Minute
	ask := func(d2 demand.Demand) int {
		return len(upOf(d.FromRank(now.Add(time.Millisecond), 1, Message{Kind: KindAsk, Ask: &d2}), KindAsk))
	}
	require.Zero(t, ask(again))
	again.Left = time.Second
	require.Equal(t, 1, ask(again), "it comes earlier")
	require.Equal(t, 1, ask(demand.Demand{Source: "save", Left: demand.NoLimit}))
	require.Empty(t, upOf(d.Signalled(now, int(syscall.SIGHUP)), KindAsk))
}

func TestInvalidDemands(t *testing.T) {
	long := string(make([]byte, maxName+1))
	for _, m := range []Message{
		{Kind: KindAsk}, {Kind: KindHold}, {Kind: KindPassed}, {Kind: KindMeet},
		{Kind: KindAsk, Ask: &demand.Demand{Cause: demand.Causes}}, {Kind: KindAsk, Ask: &demand.Demand{Left: -2}},
		{Kind: KindAsk, Ask: &demand.Demand{Source: long}}, {Kind: KindHold, Hold: &demand.Hold{Demands: make([]demand.Demand, maxDemands+1)}},
		{Kind: KindHold, Hold: &demand.Hold{Demands: []demand.Demand{{Left: math.MinInt64}}}},
		{Kind: KindMeet, Meet: &demand.Meet{Lanes: []demand.Position{{Lane: long}}}},
		{Kind: KindPassed, Passed: &Passed{Procs: make([]Proc, MaxProcs+1)}},
		{Kind: KindHello, Hello: &Hello{Takes: []Take{{Signal: 65}}}}, {Kind: KindHello, Hello: &Hello{Takes: []Take{{1, demand.TakesKinds}}}},
	} {
		require.ErrorIs(t, m.Validate(), ErrMessage, "%+v", m.Kind)
	}
}

// A version that was asked for before a failure, or while that is repaired, is asked for until it is stored.
func TestASaveSurvivesRepairs(t *testing.T) {
	save := demand.Demand{Source: "SIGUSR1 at rank 1", Left: demand.NoLimit}
	const before, repairing = 0, 1
	for name, c := range map[string]struct {
		when int
		asks func(s *script)
	}{
		"before the call was agreed on": {before, func(s *script) { s.ask(save) }},
		"before the call has come":      {before, func(s *script) { s.ask(save); s.passes(0, 4, true, 0); s.passes(1, 4, true, 1) }},
		"before the repair":             {repairing, func(s *script) { s.ask(save); s.passes(1, 4, true, 1) }},
		"in the repair":                 {repairing, func(s *script) { s.joinRepair(1); s.ask(save); s.passes(1, 4, false, 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			s, joined := running(t, two(2)), name == "in the repair"
			if c.when == before {
				c.asks(s)
			}
			s.kill(0)
			if c.when == repairing {
				c.asks(s)
			}
			if !joined {
				s.joinRepair(1)
			}
			again := func(p Proc) []Message {
				s.sent = nil
				s.hello(p)
				return s.messages(KindHold)
			}
			require.NotEmpty(t, again(2))
			require.Equal(t, []demand.Demand{save}, s.hold().Demands)
			s.kill(2)
			s.joinRepair(s.made(1).New.ID)
			require.NotEmpty(t, again(3), "and once more")
			require.Equal(t, []demand.Demand{save}, s.hold().Demands)
			s.passes(s.where[3], 4, true, 3)
			s.passes(1, 4, true, 1)
			require.EqualValues(t, 5, s.meet())
			s.of(3, Message{Kind: KindPassed, Passed: &Passed{Procs: []Proc{3}, Passed: demand.Passed{
				Serial: s.hold().Serial, Lanes: []demand.Position{{}}, Stored: true}}})
			s.kill(3)
			s.joinRepair(s.made(1).New.ID)
			require.Empty(t, again(4), "it is stored")
		})
	}
}

// joinRepair has rank 1 ask for the repair of a communicator.
func (s *script) joinRepair(id CommID) {
	s.join(1, Join{Op: OpRepair, Comm: id, Policy: policy(driver.NonShrinking, driver.Reuse)})
}

// So does one that no deployment has come to store; the next one looks itself for those who wait for an answer.
func TestASaveSurvivesADeployment(t *testing.T) {
	s := running(t, two(2))
	s.ask(demand.Demand{Source: "SIGUSR1", Left: demand.NoLimit})
	s.ask(demand.Demand{ID: "7", Source: "craft checkpoint", Left: demand.NoLimit})
	cfg := two(2)
	cfg.Past = s.r.past(defeat{})
	s = launched(t, cfg)
	s.hello(0)
	s.hello(1)
	require.Equal(t, []demand.Demand{{Source: "SIGUSR1", Left: demand.NoLimit}}, s.hold().Demands)
}
