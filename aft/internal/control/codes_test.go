package control

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/demand"
)

const segv = int(syscall.SIGSEGV)

// TestCodeOfALossAtTheEnd: a job that was asked to end and has lost a process, for which there was no repair any more, can go
// on later, unless another one has failed by itself.
func TestCodeOfALossAtTheEnd(t *testing.T) {
	killed, exited := func(n int) Exit { return Exit{Code: -1, Signal: n} }, func(code int) Exit { return Exit{Code: code} }
	for _, c := range []struct {
		name  string
		cause demand.Cause
		ends  []Exit // the first before the repair is refused, the other two then
		code  int
	}{
		{"a deadline", demand.Deadline, []Exit{killed(9), exited(99), exited(99)}, 99},
		{"a halt", demand.Halt, []Exit{killed(9), exited(76), exited(76)}, 76},
		{"an interrupt", demand.Interrupt, []Exit{killed(9), exited(130), exited(130)}, 130},
		{"all are lost", demand.Deadline, []Exit{killed(9), killed(15), killed(9)}, 99},
		{"all are killed out of memory, in scripts", demand.Deadline, []Exit{exited(137), exited(137), exited(137)}, 99},
		{"it was silent", demand.Deadline, []Exit{{Code: -1, Signal: 9, Fenced: true}, exited(99), exited(99)}, 99},
		{"one has failed by itself", demand.Deadline, []Exit{killed(9), exited(99), exited(1)}, 1},
		{"one has a code of its own", demand.Deadline, []Exit{exited(3), exited(99), exited(99)}, 3},
		{"the first has panicked", demand.Deadline, []Exit{{Code: 2, Panic: "nil"}, exited(99), exited(99)}, 2},
		{"the first has crashed", demand.Deadline, []Exit{killed(segv), exited(99), exited(99)}, 128 + segv},
		{"others say another thing", demand.Deadline, []Exit{killed(9), exited(76), exited(99)}, 76},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := two(3)
			cfg.RequeueCode = 99
			s := running(t, cfg)
			s.ask(demand.Demand{Cause: c.cause, Source: "x", Left: time.Second})
			end := func(p Proc) {
				e := c.ends[p]
				e.Proc, e.Step = p, NoStep
				s.of(p, Message{Kind: KindExit, Exits: []Exit{e}})
			}
			end(0)
			if c.ends[0].Signal != 0 {
				s.join(1, Join{Op: OpRepair, Policy: policy(driver.NonShrinking, driver.Reuse)})
				s.join(2, Join{Op: OpRepair, Policy: policy(driver.NonShrinking, driver.Reuse)})
				require.Equal(t, c.cause, s.made(1).Ends)
				require.Contains(t, s.made(1).Err, "a repair takes about")
			}
			end(1)
			require.Nil(t, s.end)
			end(2)
			require.Equal(t, c.code, s.end.Code, s.end.Report)
			if c.code == c.cause.ExitCode(99) {
				require.Contains(t, s.end.Report, "the job was asked to end (x), and has lost rank")
				require.Contains(t, s.end.Report, "a restart goes on from the newest version that is stored")
			} else {
				require.NotContains(t, s.end.Report, "restart")
			}
			next, _ := s.r.Sequel(5)
			require.Nil(t, next)
		})
	}
}

// TestLossesThatAreNoEnd: without a request the code is that of the loss.
func TestLossesThatAreNoEnd(t *testing.T) {
	s := running(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0), Policy: driver.Policy{Recovery: driver.Abort, Spawn: driver.NoReuse}})
	s.kill(0)
	require.Equal(t, 137, s.end.Code)
	require.NotContains(t, s.end.Report, "restart")
}

// TestNodesAreLostAtTheEnd: without another one nobody can take the places of their ranks, though the time would do.
func TestNodesAreLostAtTheEnd(t *testing.T) {
	for asked, code := range map[bool]int{true: requeueCode, false: 1} {
		s := running(t, two(2))
		if asked {
			s.ask(endDemand)
		}
		s.do(s.r.Lost(s.now, 1, "off", true))
		s.do(s.r.Lost(s.now, 0, "off", true))
		require.NotNil(t, s.end)
		require.Equal(t, code, s.end.Code, s.end.Report)
	}
}

// TestMixedCodes: what no demand explains wins; else a halt, an interrupt, what is to go on later.
func TestMixedCodes(t *testing.T) {
	for _, c := range []struct {
		codes []int
		code  int
	}{
		{[]int{1, 75}, 1}, {[]int{75, 1}, 1}, {[]int{3, 76}, 3}, {[]int{130, 1}, 1}, {[]int{1, 5}, 5},
		{[]int{0, 75}, 75}, {[]int{75, 130}, 130}, {[]int{130, 76}, 76}, {[]int{76, 0}, 76}, {[]int{0, 0}, 0},
	} {
		s := running(t, two(2))
		s.ask(endDemand)
		for p, code := range c.codes {
			s.exit(Proc(p), code)
		}
		require.Equal(t, c.code, s.end.Code, "%v: %s", c.codes, s.end.Report)
	}
}

// TestMixedCodesOfOneRank: so it is with those that a rank has had one after the other, where the one before was replaced after a zone, as another
// one may have followed.
func TestMixedCodesOfOneRank(t *testing.T) {
	for _, c := range []struct {
		first  Exit // of rank 0; that of rank 1 was on a node that is lost
		second int  // code of both
		asked  bool // to end, before that
		code   int
		says   string
	}{
		{Exit{Code: 1}, 75, false, 1, "exit status 1"},
		{Exit{Code: 1}, 75, true, 1, "exit status 1"},
		{Exit{Code: 1}, 76, true, 1, "exit status 1"},
		{Exit{Code: 1}, 0, false, 1, "exit status 1"},
		{Exit{Code: 80}, 75, true, 80, "exit status 80"},
		{Exit{Code: 75}, 1, false, 1, "exit status 1"},
		{Exit{Code: -1, Signal: 9}, 75, true, 75, "a restart goes on from"},
		{Exit{Code: -1, Signal: 15}, 75, true, 75, "a restart goes on from"},
		{Exit{Code: -1, Signal: 9}, 75, false, 137, "signal 9"},
		{Exit{Code: -1, Signal: 9}, 1, true, 1, "exit status 1"},
	} {
		s := running(t, two(2))
		for p := range Proc(2) {
			s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}, Step: 7})
		}
		c.first.Step = NoStep
		s.of(0, Message{Kind: KindExit, Exits: []Exit{c.first}})
		s.do(s.r.Lost(s.now, 1, "off", true))
		require.Nil(t, s.end)
		s.hello(2)
		s.hello(3)
		if c.asked {
			s.ask(endDemand)
		}
		s.exit(2, c.second)
		s.exit(3, c.second)
		require.NotNil(t, s.end)
		require.Equal(t, c.code, s.end.Code, "%+v: %s", c, s.end.Report)
		require.Contains(t, s.end.Report, c.says, "%+v", c)
		require.NotContains(t, s.end.Report, "its ranks have all ended")
	}
}
