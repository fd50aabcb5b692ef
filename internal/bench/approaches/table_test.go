package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// example are two runs of one program with the failure of a process, under CR and GLOBAL-RESTART, in the pairing of the paper.
func example() (measurement, results) {
	m := measurement{
		site: site{shape: shape{4, 2}, dir: "."}, programs: known[1:2], approaches: []approach{approaches[0], approaches[3]},
		pairings: pairings[:1], failures: []failure{none, process}, runs: 2,
	}
	var r results
	for run := range 2 {
		for i, a := range m.approaches {
			t := times{total: 2 + float64(run)}
			t.part = [parts]float64{application: 1 + float64(run), writing: 0.25, reading: 0.125, recovery: 0.5 / float64(1+4*i), redone: 0.125}
			what := id{"cg", process, a.name, paper.storage(a, process)}
			r.samples = append(r.samples, sample{what, run, victim{Rank: 3, Node: 1, Iteration: 7}, t})
		}
		r.samples = append(r.samples, sample{id{"cg", none, redeploy, file}, run, victim{}, times{total: 1, part: [parts]float64{application: 1}}})
	}
	r.busy = []float64{5}
	return m, r
}

func TestWrite(t *testing.T) {
	m, r := example()
	var out bytes.Buffer
	require.NoError(t, m.write(&out, r))
	for _, line := range []string{
		"4 ranks on 2 virtual nodes and a spare one, seed 0; others used 5 % (5 to 5) of the machine.\n",
		"(t distribution) of 2 runs.\n",
		"**Checkpoints as in the paper (its Table 2)**\n",
		"| cg | none | CR | file | 1.000 ± 0.000 | 1.000 ± 0.000 | 0.000 ± 0.000 | | | |\n",
		"| cg | process | CR | file | 2.500 ± 6.353 | 1.500 ± 6.353 | 0.250 ± 0.000 | 0.500 ± 0.000 | 0.125 ± 0.000 | 0.125 ± 0.000 |\n",
		"| cg | process | GLOBAL-RESTART | memory | 2.500 ± 6.353 |",
		"| recovery, process failure | cg | 0.100 ± 0.000 | 5.00 (5.00 to 5.00) |\n",
	} {
		require.Contains(t, out.String(), line)
	}
	require.NotContains(t, out.String(), "| application, no failure |", "of GLOBAL-RESTART there is no such job")
	require.NotContains(t, out.String(), "files for all")
}

func TestWriteCSV(t *testing.T) {
	m, r := example()
	var out bytes.Buffer
	require.NoError(t, m.writeCSV(&out, r))
	lines, err := csv.NewReader(&out).ReadAll() // all of the same length
	require.NoError(t, err)
	require.Len(t, lines, 4)
	require.Equal(t, []string{"paper", "cg", "process", "GLOBAL-RESTART", "memory", "2"}, lines[3][:6])
	value := make(map[string]string)
	for i, name := range lines[0] {
		value[name] = lines[3][i]
	}
	require.Equal(t, "0.100000", value["recovery"])
	half, err := strconv.ParseFloat(value["total_half"], 64)
	require.NoError(t, err)
	require.InDelta(t, 6.353, half, 1e-3)
}

func TestWriteJSON(t *testing.T) {
	m, r := example()
	var out bytes.Buffer
	require.NoError(t, m.writeJSON(&out, r))
	var got struct {
		Rows []struct {
			Pairing, Program, Failure, Approach, Checkpoints string
			After                                            struct{ Mean float64 }
			Parts                                            map[string]struct{ Mean, Half float64 }
		}
		Jobs []struct {
			Victim *victim
			Parts  map[string]float64
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Len(t, got.Rows, 3)
	last := got.Rows[2]
	require.Equal(t, []string{"paper", "cg", "process", "GLOBAL-RESTART", "memory"}, []string{last.Pairing, last.Program, last.Failure, last.Approach, last.Checkpoints})
	require.InDelta(t, 0.1, last.Parts["recovery"].Mean, 1e-9)
	require.InDelta(t, 0.35, last.After.Mean, 1e-9)
	require.Len(t, got.Jobs, 6)
	require.Equal(t, &victim{3, 1, 7}, got.Jobs[0].Victim)
	require.Nil(t, got.Jobs[2].Victim)
	require.Len(t, got.Jobs[0].Parts, int(parts))
}

func TestBars(t *testing.T) {
	m, r := example()
	b := bars("x", m.rows(r, paper), row.total, application, recovery)
	require.Len(t, b.Groups, 2)
	require.Equal(t, "cg\nprocess failure", b.Groups[1].Name)
	require.Equal(t, []float64{1.5, 0.5}, b.Groups[1].Bars[0].Parts)
	require.Equal(t, "G-R", b.Groups[1].Bars[1].Name)
	require.InDelta(t, 6.353, b.Groups[1].Bars[1].Half, 1e-3)
	var out bytes.Buffer
	require.NoError(t, m.draw(&out, "svg", r))
	require.Contains(t, out.String(), ": after the failure<")
}
