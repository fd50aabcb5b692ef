package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

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
		"-kill 2@137":                         121,
		"-kill 0@137":                         121,
		"-kill 3@0":                           -1,
		"-kill 1@59 -kill 3@137":              121,
		"-kill 1@137,2@137":                   121,
		"-nodes 2 -kill-node 1@137":           121,
		"-nodes 2 -spare-nodes 1 -kill 0@137": 121,
		"-nodes 2 -spare-nodes 1 -kill-node 0@59 -kill-node 2@137": 121,
		"-fresh -kill 2@137":      121,
		"-async copy -kill 2@137": 121,
	} {
		t.Run(flags, func(t *testing.T) {
			p := newProgram(t)
			p.result(small("-np", "4", "-iters", "20")...) // what -fresh does not want
			if !strings.Contains(flags, "-fresh") {
				p = newProgram(t)
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
	want := newProgram(t).result(small("-np", "8")...)
	for levels, c := range map[string]struct {
		kill string
		from int
	}{
		"local":         {"-kill 2@137", 121},
		"partner":       {"-kill-node 1@137", 121},
		"local:1,pfs:5": {"-kill-node 1@137", 81},
		"mem:1,pfs:5":   {"-kill 2@137", 81},
	} {
		t.Run(levels, func(t *testing.T) {
			args := leveled(levels, append(strings.Fields(c.kill), "-recovery", "ABORT", "-restarts", "1", "-json")...)
			s := newProgram(t).Start(args...).End(0)
			var got result
			require.NoError(t, json.Unmarshal([]byte(s.Stdout.String()), &got))
			require.Equal(t, want.Digest, got.Digest)
			require.Equal(t, c.from, got.RestartedFrom, "%s", &s.Stderr)
		})
	}
}
