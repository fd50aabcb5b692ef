package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Reinit++, Table 2.
func TestStorageOfThePaper(t *testing.T) {
	for _, a := range approaches {
		inMemory := memory
		if a.name == redeploy {
			inMemory = file
		}
		require.Equal(t, inMemory, paper.storage(a, process), a.name)
		require.Equal(t, inMemory, paper.storage(a, none), a.name)
		require.Equal(t, file, paper.storage(a, node), a.name)
		for _, f := range failures {
			require.Equal(t, file, onFile.storage(a, f), a.name)
		}
	}
}

func TestVariants(t *testing.T) {
	require.Len(t, variants(approaches, pairings, none), 7, "CR in files belongs to both pairings")
	require.Len(t, variants(approaches, pairings, process), 7)
	require.Len(t, variants(approaches, pairings, node), 4)
	require.Len(t, variants(approaches[2:3], pairings[1:], process), 1)
	m := measurement{programs: known, approaches: approaches, pairings: pairings, failures: failures, runs: 10}
	require.Equal(t, 3*10*18, m.jobs())
}

// Reinit++, section 4: the random selection of iteration and process is the same for every approach.
func TestSameFailureForAll(t *testing.T) {
	s := site{shape: shape{8, 4}, bin: "bin"}
	for run := range 10 {
		for _, f := range []failure{process, node} {
			who := s.victim(1, "cg", f, run, 60)
			kills := make(map[string]int)
			for _, v := range variants(approaches, pairings, f) {
				args := strings.Join(s.arguments(known[0], v, f, who), " ")
				_, kill, _ := strings.Cut(args, " -json ")
				kills[kill]++
			}
			require.Len(t, kills, 1, "%v", kills)
		}
	}
	require.NotContains(t, s.arguments(known[0], variant{approaches[0], file}, none, victim{}), "-kill")
}

func TestVictims(t *testing.T) {
	s := shape{5, 2}
	ranks, iterations, different := make(map[int]bool), make(map[int]bool), make(map[victim]bool)
	for run := range 400 {
		v := s.victim(7, "md", process, run, 6)
		require.Equal(t, v, s.victim(7, "md", process, run, 6))
		require.Equal(t, s.node(v.Rank), v.Node)
		ranks[v.Rank], iterations[v.Iteration] = true, true
		different[s.victim(uint64(run), "md", process, 0, 100)] = true
	}
	require.Len(t, ranks, 5)
	require.Equal(t, map[int]bool{1: true, 2: true, 3: true, 4: true}, iterations, "there is a version to go back to, and more to do")
	require.Greater(t, len(different), 100, "the seed counts")
	differ := func(program string, f failure, run int) bool {
		return s.victim(7, "md", process, 0, 1000) != s.victim(7, program, f, run, 1000)
	}
	require.True(t, differ("cg", process, 0) && differ("md", node, 0) && differ("md", process, 1))
}

func TestNode(t *testing.T) {
	for want, s := range map[string]shape{"00112233": {8, 4}, "00011": {5, 2}, "0011223": {7, 4}, "012": {3, 3}} {
		var got string
		for rank := range s.ranks {
			got += string(rune('0' + s.node(rank)))
		}
		require.Equal(t, want, got)
	}
}

func TestInTurn(t *testing.T) {
	all := []string{"a", "b", "c"}
	require.Equal(t, []string{"a", "b", "c"}, inTurn(all, 0))
	require.Equal(t, []string{"c", "a", "b"}, inTurn(all, 5))
	require.Equal(t, []string{"a", "b", "c"}, all)
}
