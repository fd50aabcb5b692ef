package main

import (
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/replica"
)

func TestPlanReplica(t *testing.T) {
	r := craft(t, "plan", "replica", "-p", "24576", "-r", "4")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	for _, line := range []string{
		`ranks +24576`, `copies +4`, `lost after +2516 ranks on average \(10.2%\)`, `memory +67108864 of each rank, for 16777216 of data`,
		`network +2µs a message, 850 MB/s of a rank, 12.5 GB/s of a node with 48 ranks`,
		`RANKS +SHARE +PROBABILITY`, ` +1000 +4.07% +0.0166`, `OPERATION +TIME +SENT +RECEIVED +MESSAGES SENT +MESSAGES RECEIVED`,
		`submit +[0-9.]+ms +67108864 +67108864 +256 +256`, `load a failed rank's, scattered +[0-9.]+[mµ]s +[0-9]+ +704 +[0-9]+ +2`,
	} {
		require.Regexp(t, "(?m)^"+line, r.stdout)
	}
	require.NotContains(t, r.stdout, "NODES")

	d := decode[replicaPlan](t, 0, "plan", "replica", "-p", "24576", "-r", "4")
	formula, err := replica.NewLoss(24576, 4)
	require.NoError(t, err)
	require.Equal(t, "formula", d.ByRank.Method)
	require.Equal(t, interval{formula.Mean(), formula.Mean(), formula.Mean()}, d.ByRank.Mean)
	require.Equal(t, formula.Quantile(0.5), d.ByRank.Median)
	last := d.ByRank.Failed[len(d.ByRank.Failed)-1]
	require.Equal(t, 5000, last.Failed)
	require.Greater(t, last.Probability, certain)
	for _, f := range d.ByRank.Failed {
		require.Equal(t, formula.By(f.Failed), f.Probability)
	}
	require.Nil(t, d.ByNode)
	require.Len(t, d.Costs.Operations, 6)
	require.Equal(t, int64(64<<20), d.Costs.Memory)
}

func TestPlanReplicaByNode(t *testing.T) {
	args := []string{"plan", "replica", "-p", "100", "-r", "3", "--nodes", "10", "--trials", "3000", "--bytes", "1MiB", "--consecutive"}
	d := decode[replicaPlan](t, 0, args...)
	require.Equal(t, 10, *d.Nodes)
	require.False(t, d.Permutation)
	require.Equal(t, 10, d.Costs.Network.RanksPerNode)
	require.Equal(t, int64(3<<20), d.Costs.Memory)
	for _, l := range []*losses{d.ByRank, d.ByNode} { // 3 does not divide 100
		require.Equal(t, "simulation", l.Method)
		require.Equal(t, 3000, l.Trials)
		require.Less(t, l.Mean.Low, l.Mean.Value)
		require.Less(t, l.Mean.Value, l.Mean.High)
		for _, f := range l.Failed {
			require.LessOrEqual(t, f.Low, f.Probability)
			require.LessOrEqual(t, f.Probability, f.High)
			require.LessOrEqual(t, f.High, f.Bound)
		}
		require.Zero(t, l.Failed[1].Bound) // two copies of three
	}
	require.InDelta(t, 10*d.ByNode.Mean.Value, d.ByNode.Ranks.Value, 1e-9)
	require.Equal(t, d, decode[replicaPlan](t, 0, args...), "the seed is the same")

	r := craft(t, args...)
	require.Regexp(t, `(?m)^NODES +SHARE +PROBABILITY +INTERVAL +AT MOST$`, r.stdout)
	require.Regexp(t, `nodes on average .*, [0-9.]+ to [0-9.]+ in a simulation of 3000 trials`, r.stdout)
}

func TestPlanReplicaDraws(t *testing.T) {
	svg, raster := filepath.Join(t.TempDir(), "a.svg"), filepath.Join(t.TempDir(), "b.png")
	r := craft(t, "plan", "replica", "-p", "48", "--nodes", "6", "--trials", "100", "--svg", svg, "--png", raster)
	require.Zero(t, r.code, r.stderr)
	text, err := os.ReadFile(svg)
	require.NoError(t, err)
	require.Contains(t, string(text), "Loss of data with 2 copies on 48 ranks, 6 nodes")
	require.Contains(t, string(text), "whole nodes fail (simulation, 95%)")
	f, err := os.Open(raster)
	require.NoError(t, err)
	defer f.Close()
	_, err = png.Decode(f)
	require.NoError(t, err)

	r = craft(t, "plan", "replica", "-p", "1", "-r", "1", "--svg", svg) // nothing but certainty
	require.Zero(t, r.code, r.stderr)
	r = craft(t, "plan", "replica", "-p", "48", "--svg", filepath.Join(svg, "c.svg"))
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "--svg "+filepath.Join(svg, "c.svg")+": ")
}

func TestPlanReplicaOfLargeWorlds(t *testing.T) {
	r := craft(t, "plan", "replica", "-p", "33554432", "-r", "4")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "(1.68%)")
	require.Contains(t, r.stderr, "what it costs is left out")
	require.Contains(t, r.stderr, "fewer --ranks or a larger --range-bytes")
}

// TestPlanReplicaOfSlowNetworks: times that a Duration cannot say are not below zero.
func TestPlanReplicaOfSlowNetworks(t *testing.T) {
	for _, slow := range [][]string{{"--latency", "100000h"}, {"--rank-bandwidth", "64B", "--bytes", "1PiB", "--range-bytes", "1PiB"}} {
		d := decode[replicaPlan](t, 0, append([]string{"plan", "replica", "-p", "96", "-r", "2"}, slow...)...)
		for _, o := range d.Costs.Operations {
			require.Positive(t, o.Seconds, "%s, %v", o.Operation, slow)
		}
		require.NotRegexp(t, `(?m) -\d`, craft(t, append([]string{"plan", "replica", "-p", "96", "-r", "2"}, slow...)...).stdout)
	}
}

func TestPlanReplicaRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "--ranks (-p)"},
		{[]string{"-p", "-1"}, "--ranks -1: allowed are 1 to"},
		{[]string{"-p", "99999999"}, "--ranks 99999999: allowed are 1 to"},
		{[]string{"-p", "3", "-r", "4"}, "--copies 4 on --ranks 3: allowed are 1 copy to 3"},
		{[]string{"-p", "3", "-r", "0"}, "--copies 0 on --ranks 3"},
		{[]string{"-p", "3", "--nodes", "4"}, "--nodes 4 with --ranks 3: allowed are 1 to 3"},
		{[]string{"-p", "3", "--nodes", "0"}, "--nodes 0 with --ranks 3"},
		{[]string{"-p", "8", "-r", "4", "--nodes", "2"}, "--copies 4 on --nodes 2: each copy is on another node"},
		{[]string{"-p", "33554432", "--nodes", "8"}, "--ranks 33554432 with --nodes: allowed are 1 to"},
		{[]string{"-p", "8", "--bytes", "much"}, `--bytes "much"`},
		{[]string{"-p", "8", "--bytes", "0"}, `--bytes "0": allowed are 64 bytes or more`},
		{[]string{"-p", "8", "--range-bytes", "1"}, `--range-bytes "1"`},
		{[]string{"-p", "8", "--rank-bandwidth", "0"}, `--rank-bandwidth "0": allowed are 64 bytes a second or more, such as 850MB`},
		{[]string{"-p", "8", "--node-bandwidth", "fast"}, `--node-bandwidth "fast"`},
		{[]string{"-p", "8", "--trials", "-1"}, "--trials -1"},
		{[]string{"-p", "8", "--latency", "-1s"}, "--latency -1s"},
		{[]string{"-p", "8", "--svg", "a.png"}, "--svg a.png: the name ends in .svg"},
		{[]string{"-p", "8", "--png", "a"}, "--png a: the name ends in .png"},
		{[]string{"8"}, "takes no arguments"},
	} {
		r := craft(t, append([]string{"plan", "replica"}, c.args...)...)
		require.Equal(t, exitUsage, r.code, "%v", c.args)
		require.Contains(t, r.stderr, c.says)
		require.Empty(t, r.stdout)
	}
	r := craft(t, "plan", "partner")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, `unknown command "plan partner": there are plan replica`)
}

// docs/cli.md has each flag and each name of the JSON document.
func TestPlanReplicaIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Planning\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var flags []string
	command(t, "plan", "replica").LocalFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	require.Greater(t, len(flags), 10)
	for _, flag := range flags {
		if flag != "help" {
			require.Contains(t, section, "`--"+flag, "docs/cli.md")
		}
	}
	// What the example shows is printed today.
	_, example, _ := strings.Cut(section, "\n$ craft ")
	example, _, _ = strings.Cut(example, "\n```")
	shown := strings.Split(example, "\n")
	args := strings.Fields(shown[0])
	args[len(args)-1] = filepath.Join(t.TempDir(), args[len(args)-1])
	printed := strings.Split(craftOn(t, vfs.OS(), 200, args...).stdout, "\n")
	for _, line := range shown[1:] {
		if strings.TrimSpace(line) != "..." {
			require.Contains(t, printed, line, "docs/cli.md")
		}
	}
	r := craft(t, "plan", "replica", "-p", "10", "-r", "3", "--nodes", "5", "--trials", "10", "--json")
	require.True(t, json.Valid([]byte(r.stdout)))
	for _, name := range regexp.MustCompile(`"([a-z_]+)":`).FindAllStringSubmatch(r.stdout, -1) {
		require.Contains(t, string(page), "`"+name[1]+"`", "docs/cli.md")
	}
}

// command is one of craft.
func command(t *testing.T, path ...string) *cobra.Command {
	t.Helper()
	cmd, rest, err := (&program{}).rootCommand().Find(path)
	require.NoError(t, err)
	require.Empty(t, rest)
	return cmd
}
