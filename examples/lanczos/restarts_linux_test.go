package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// restarted runs the small problem as a job that is deployed again.
func restarted(more ...string) []string {
	return on(append([]string{"-recovery", "ABORT", "-restarts", "5"}, more...)...)
}

// TestTheJobIsDeployedAgain as a whole, and goes on from its newest version: to the same digits.
func TestTheJobIsDeployedAgain(t *testing.T) {
	want := newProgram(t).result(small("-ranks", "4")...)
	for flags, from := range map[string]int{
		"-kill 0@137":                         121,
		"-kill 3@0":                           -1,
		"-nodes 2 -kill-node 1@137":           121,
		"-nodes 2 -spare-nodes 1 -kill 0@137": 121,
		"-nodes 2 -spare-nodes 1 -kill-node 0@59 -kill-node 2@137": 121,
		"-fresh -kill 2@137": 121,
	} {
		t.Run(flags, func(t *testing.T) {
			p := newProgram(t)
			if strings.Contains(flags, "-fresh") {
				p.result(small("-np", "4", "-iters", "20")...) // what it does not want
			}
			s := p.Start(append(restarted(strings.Fields(flags)...), "-json")...)
			s.End(0)
			errs := s.Stderr.String()
			require.Contains(t, errs, "restart 1 of 5: ")
			require.NotContains(t, errs, "watching a lock")
			require.NotContains(t, errs, "took over the lock of a dead job")
			var got result
			require.NoError(t, json.Unmarshal([]byte(s.Stdout.String()), &got))
			require.Equal(t, want.Digest, got.Digest)
			require.Equal(t, want.Eigenvalues, got.Eigenvalues)
			require.Equal(t, 4, got.Ranks)
			require.Equal(t, from, got.RestartedFrom)
			require.Equal(t, len(regexp.MustCompile(`restart \d of 5: `).FindAllString(errs, -1)), got.Recoveries)
			require.Empty(t, p.found("cp/*-killed-*"), "the deaths are over with the job")
		})
	}
}

// TestDeployedAgainOnTheNodes: what nodes keep in their own directories is there for the next
// deployment, that of a node which was lost as well where the level survives that.
func TestDeployedAgainOnTheNodes(t *testing.T) {
	want := newProgram(t).result(small("-np", "8", "-iters", "160")...)
	for levels, c := range map[string]struct {
		kill string
		from int
	}{
		"partner":       {"-kill-node 1@137", 121},
		"local:1,pfs:5": {"-kill-node 1@137", 81},
		"mem:1,pfs:5":   {"-kill 2@137", 81},
	} {
		t.Run(levels, func(t *testing.T) {
			args := leveled(levels, append(strings.Fields(c.kill), "-iters", "160", "-recovery", "ABORT", "-restarts", "1", "-json")...)
			s := newProgram(t).Start(args...).End(0)
			var got result
			require.NoError(t, json.Unmarshal([]byte(s.Stdout.String()), &got))
			require.Equal(t, want.Digest, got.Digest)
			require.Equal(t, c.from, got.RestartedFrom, "%s", &s.Stderr)
		})
	}
}

// TestDeployedAgainAfterKillsAtAnyMoment, so also while nodes and ranks are started again, or at the
// end, kills ranks and nodes: the digits stay.
//
//	CRAFT_TEST_SECONDS  how long it goes on at least (2)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
func TestDeployedAgainAfterKillsAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	rng := testseed.Rand(t)
	want := newProgram(t).result(small("-np", "4")...)
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 2)) * time.Second)
	restarts := 0
	for rounds := 0; rounds < 3 || restarts == 0 || time.Now().Before(until); rounds++ {
		p := newProgram(t)
		s := p.Start(restarted("-nodes", "3", "-json")...)
		p.Eventually(func() bool { // what cannot be started the first time ends the job
			return slices.ContainsFunc(p.Mark().Processes(t), func(v testprocess.Process) bool { return v.Variable("CRAFT_ROLE") == "rank" }) || s.Stdout.String() != ""
		})
		role := []string{"rank", "rank", "daemon"}[rng.IntN(3)]
		for range 2 { // three could be at the same place, which ends the job
			time.Sleep(time.Duration(rng.Int64N(int64(400 * time.Millisecond))))
			var victims []int
			for _, v := range p.Mark().Processes(t) {
				if v.Variable("CRAFT_ROLE") == role {
					victims = append(victims, v.PID)
				}
			}
			if len(victims) > 0 {
				_ = syscall.Kill(victims[rng.IntN(len(victims))], syscall.SIGKILL)
			}
			role = "rank"
		}
		s.End(0)
		lines := strings.Split(strings.TrimSpace(s.Stdout.String()), "\n") // two if the last kill was behind the result
		var got result
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &got))
		require.Equal(t, want.Digest, got.Digest, "%s", &s.Stderr)
		restarts += strings.Count(s.Stderr.String(), "restart ")
	}
	t.Logf("%d restarts", restarts)
}
