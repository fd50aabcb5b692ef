package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// fourAborting is a job of two nodes and a spare one, in a zone whose policy is ABORT.
func fourAborting(t *testing.T) *script {
	s := running(t, RootConfig{Size: 4, Nodes: nodesOf(3, 1)})
	s.begin(policy(driver.Abort, driver.NoReuse), 0, 1, 2, 3)
	s.sent = nil
	return s
}

// diedAt is the end of a process by SIGKILL at a step of the first zone.
func (s *script) diedAt(p Proc, step int64) {
	s.of(p, Message{Kind: KindExit, Exits: []Exit{{Proc: p, Code: -1, Signal: 9, Step: step}}})
}

// TestAbort: the first failure ends the job, nobody is started, and the report names who and why.
func TestAbort(t *testing.T) {
	s := fourAborting(t)
	s.diedAt(2, 137)
	require.Equal(t, End{Code: 137, GaveUp: true, Report: "the job is aborted (recovery policy ABORT)\nrank 2 on node n1: signal 9 after step 137"}, *s.end)
	require.Len(t, s.starts, 4)
	require.Contains(t, s.kinds(), KindStop, "the others are killed")
	require.NotContains(t, s.kinds(), KindRevoke)

	s = fourAborting(t)
	s.do(s.r.Lost(s.now, 1, "off", true))
	require.Equal(t, "the job is aborted (recovery policy ABORT)\nranks 2, 3 on node n1: node lost: off", s.end.Report)
	require.Equal(t, 1, s.end.Code)

	s = fourAborting(t)
	s.of(1, Message{Kind: KindExit, Exits: []Exit{{Proc: 1, Code: 2, Panic: "nil map", Step: NoStep}}})
	require.Equal(t, 2, s.end.Code)
	require.Contains(t, s.end.Report, "rank 1 on node n0: exit status 2 (nil map)")
}

// TestAbortOfTheJob: before the first zone the policy is that of the job, and a program that never
// comes to one ends by its first failure.
func TestAbortOfTheJob(t *testing.T) {
	cfg := RootConfig{Size: 2, Nodes: nodesOf(1, 0), Policy: driver.Policy{Recovery: driver.Abort}}
	s := launched(t, cfg)
	s.kill(1)
	require.NotNil(t, s.end)
	require.Len(t, s.starts, 2)

	cfg.Policy.Recovery = ""
	s = launched(t, cfg)
	s.kill(1)
	require.Nil(t, s.end)
	require.Len(t, s.starts, 3, "with another policy it is started again")
}

// TestAbortBetweenZones: a rank that is killed between two zones ends the job as well, and one that
// ends as it may does not.
func TestAbortBetweenZones(t *testing.T) {
	s := fourAborting(t)
	for p := range Proc(4) {
		s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	}
	s.exit(0, 0)
	require.Nil(t, s.end)
	s.kill(1)
	require.Contains(t, s.end.Report, "rank 1 on node n0: signal 9")
}

// TestAbortOfZonesWithAnotherPolicy: what the zone has named counts, not what the job was started with.
func TestAbortOfZonesWithAnotherPolicy(t *testing.T) {
	s := running(t, RootConfig{Size: 4, Nodes: nodesOf(2, 0), Policy: driver.Policy{Recovery: driver.Abort}})
	p := policy(driver.NonShrinking, driver.Reuse)
	s.begin(p, 0, 1, 2, 3)
	s.kill(2)
	require.Nil(t, s.end)
	s.repairAll(0, 1, p, 0, 1, 3)
	s.hello(4)
	require.Equal(t, []Proc{0, 1, 4, 3}, s.made(0).New.Procs)
}

// TestAbortWaitsForWhoSaves: ranks that were asked to end may save what they have though one of
// them has failed, for as long as they have for that.
func TestAbortWaitsForWhoSaves(t *testing.T) {
	s := fourAborting(t)
	s.do(s.r.Signal(s.now, sigterm))
	s.diedAt(2, 137)
	require.Nil(t, s.end)
	for _, p := range []Proc{0, 1, 3} {
		s.exit(p, 75)
	}
	require.Equal(t, 137, s.end.Code)
	require.False(t, s.end.GaveUp, "all have ended by themselves")

	s = fourAborting(t)
	s.do(s.r.Signal(s.now, sigterm))
	s.diedAt(2, 137)
	for range 70 {
		s.pulses()
		s.tick(StopPatience / 60)
	}
	require.Contains(t, s.end.Report, "aborted", "they go on")

	s = fourAborting(t)
	s.do(s.r.Signal(s.now, sigterm))
	s.diedAt(2, 137)
	s.join(0, Join{Op: OpRepair, Policy: policy(driver.Abort, driver.NoReuse)})
	require.NotNil(t, s.end, "one does not end, but wants to go on")
}

// TestNoAbortWithoutAFailure: bodies that end because a rank has revoked the communicator by itself
// go on on another one.
func TestNoAbortWithoutAFailure(t *testing.T) {
	s := fourAborting(t)
	s.repairAll(0, 1, policy(driver.Abort, driver.NoReuse), 0, 1, 2, 3)
	require.Nil(t, s.end)
	require.Equal(t, []Proc{0, 1, 2, 3}, s.made(0).New.Procs)
}

// TestSignalThatComesToTheRanksFirst: who ends all processes of a job may signal the launcher last. Then
// those who save are waited for, and the job is not deployed again.
func TestSignalThatComesToTheRanksFirst(t *testing.T) {
	for name, die := range map[string]func(s *script, p Proc){
		"no code for it": func(s *script, p Proc) { s.signalled(p, sigterm) },
		"code for it":    func(s *script, p Proc) { s.exit(p, 143) },
	} {
		t.Run(name, func(t *testing.T) {
			s := fourAborting(t)
			die(s, 2)
			s.tick(abortGrace / 2)
			s.join(0, Join{Op: OpRepair, Policy: policy(driver.Abort, driver.NoReuse)})
			require.Nil(t, s.end)
			s.do(s.r.Signal(s.now, sigterm))
			for _, p := range []Proc{0, 1, 3} {
				die(s, p)
			}
			s.tick(abortGrace)
			require.NotNil(t, s.end)
			next, _ := s.r.Sequel(5)
			require.Nil(t, next)

			s = fourAborting(t)
			die(s, 2)
			s.tick(abortGrace)
			require.Contains(t, s.end.Report, "aborted", "it was for that rank alone")
			next, _ = s.r.Sequel(5)
			require.NotNil(t, next)
		})
	}
	s := fourAborting(t)
	s.signalled(2, sigterm)
	s.kill(3)
	require.NotNil(t, s.end, "that is no answer")
}

// TestAbortBeforeTheFirstZone waits in the same way, and starts nobody meanwhile.
func TestAbortBeforeTheFirstZone(t *testing.T) {
	cfg := RootConfig{Size: 2, Nodes: nodesOf(1, 0), Policy: driver.Policy{Recovery: driver.Abort}}
	s := launched(t, cfg)
	s.signalled(1, sigterm)
	s.tick(abortGrace / 2)
	require.Nil(t, s.end)
	s.do(s.r.Signal(s.now, sigterm))
	s.pulses()
	s.tick(abortGrace)
	require.Nil(t, s.end, "rank 0 may be saving")
	s.exit(0, 143)
	require.NotNil(t, s.end)
	require.Equal(t, 143, s.end.Code)
	require.Len(t, s.starts, 2)

	s = launched(t, cfg)
	s.signalled(1, sigterm)
	s.signalled(0, sigterm)
	require.Nil(t, s.end)
	s.tick(abortGrace)
	require.Contains(t, s.end.Report, "aborted")
	require.Len(t, s.starts, 2)
}
