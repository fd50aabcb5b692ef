package control

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// sparesOnly replaces as many as there are spare nodes, the lowest first.
var sparesOnly = driver.RecoveryPolicy{
	Name:     "SPARES-ONLY",
	Replaced: func(d driver.Damage) []int { return d.Lost[:min(d.Spares, len(d.Lost))] },
}

// withPolicy makes a policy known for the time of a test.
func withPolicy(t *testing.T, p driver.RecoveryPolicy) {
	before := driver.Recoveries
	driver.Recoveries = append(slices.Clone(before), p)
	t.Cleanup(func() { driver.Recoveries = before })
}

// TestAnotherPolicy: one that replaces some of those that are lost, and not the others.
func TestAnotherPolicy(t *testing.T) {
	withPolicy(t, sparesOnly)
	s := running(t, RootConfig{Size: 4, Nodes: nodesOf(3, 1)})
	s.kill(1)
	s.kill(2)
	s.repairAll(0, 1, policy(sparesOnly.Name, driver.NoReuse), 0, 3)
	require.Equal(t, Start{Proc: 4, Original: 1, Epoch: 1}, s.starts[4])
	require.Equal(t, Node(2), s.where[4])
	require.Len(t, s.starts, 5)
	s.hello(4)
	require.Equal(t, []Proc{0, 4, 3}, s.made(0).New.Procs)
	require.Equal(t, []int{1}, s.made(0).Change.Replaced)
	require.Equal(t, []int{0, 1, -1, 2}, s.made(0).Change.Ranks)
	require.Len(t, s.made(0).Change.Failed, 2)

	s.kill(3) // and no spare node is left
	s.repairAll(0, 2, policy(sparesOnly.Name, driver.NoReuse), 0, 4)
	require.Equal(t, []Proc{0, 4}, s.made(0).New.Procs)
}

// TestSparesOfARepair: a spare node counts until the repair is complete that has placed somebody there:
// who fails meanwhile gets the other one.
func TestSparesOfARepair(t *testing.T) {
	fromTheStart := driver.RecoveryPolicy{Name: "SPARES-AT-DETECTION", Replaced: sparesOnly.Replaced, AtDetection: true}
	for _, p := range []driver.RecoveryPolicy{sparesOnly, fromTheStart} {
		t.Run(string(p.Name), func(t *testing.T) {
			withPolicy(t, p)
			s := running(t, RootConfig{Size: 4, Nodes: nodesOf(4, 2)})
			named := policy(p.Name, driver.NoReuse)
			s.begin(named, 0, 1, 2, 3)
			s.kill(1)
			s.repairAll(0, 1, named, 0, 2, 3)
			s.kill(2)
			require.Equal(t, []Node{2, 3}, s.placed()[4:])
			s.kill(3)
			s.hello(4)
			s.hello(5)
			require.Equal(t, []Proc{0, 4, 5}, s.made(0).New.Procs)
		})
	}
}

// TestPolicyThatChangesItsMind: all have failed, and by the time that they could be replaced
// the policy does not want that any more: there is no world without ranks.
func TestPolicyThatChangesItsMind(t *testing.T) {
	withPolicy(t, sparesOnly)
	s := running(t, RootConfig{Size: 1, Nodes: nodesOf(6, 5), Policy: *policy(sparesOnly.Name, driver.NoReuse)})
	lose := func(n Node) { s.do(s.r.Lost(s.now, n, "off", true)) }
	lose(0)
	s.hello(1)
	lose(1)
	s.hello(2)
	lose(2)
	s.hello(3)
	lose(3) // what replaces that has to wait
	require.Len(t, s.starts, 4)
	lose(4)
	lose(5)
	require.NotNil(t, s.end)
	require.Contains(t, s.end.Report, "no rank is left")
	require.Equal(t, 1, s.end.Code)
}

// TestPolicyAndPatience: a policy is asked about who seems to have left together with who has failed,
// whether patience has to end before they are replaced.
func TestPolicyAndPatience(t *testing.T) {
	asked := func(t *testing.T, replaced func(lost []int) []int) *script {
		some := driver.RecoveryPolicy{Name: "SOME", Replaced: func(d driver.Damage) []int { return replaced(d.Lost) }}
		withPolicy(t, some)
		s := four(t)
		s.kill(1)
		s.do(s.r.Signal(s.now, sighup))
		s.exit(2, 3)
		s.repairAll(0, 1, policy(some.Name, driver.Reuse), 0, 3)
		return s
	}
	t.Run("the lowest", func(t *testing.T) {
		s := asked(t, func(lost []int) []int { return lost[:min(1, len(lost))] })
		require.Len(t, s.starts, 5, "rank 2 is not waited for")
		s.hello(4)
		require.Equal(t, []Proc{0, 4, 3}, s.made(0).New.Procs)
	})
	t.Run("all but the lowest", func(t *testing.T) {
		s := asked(t, func(lost []int) []int { return lost[min(1, len(lost)):] })
		s.exit(0, 3)
		s.exit(3, 3)
		require.Len(t, s.starts, 4, "all have ended as they were asked to")
		require.NotNil(t, s.end)
	})
}
