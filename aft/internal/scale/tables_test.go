package scale

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// given is what the command line says: the sizes of jobs, and other constants than Default's.
var given = struct {
	tables               bool
	nodes, ranks, fanOut string
	policies             string
	fails                string
	model                Model
	timing               time.Duration
}{model: Default}

func init() {
	f, m := flag.CommandLine, &given.model
	f.BoolVar(&given.tables, "tables", false, "simulate jobs, and print what they cost")
	f.StringVar(&given.nodes, "nodes", "10,100,1000", "`list` of numbers of nodes")
	f.StringVar(&given.ranks, "ranks", "1,8", "`list` of numbers of ranks of each")
	f.StringVar(&given.fanOut, "fan-out", "0", "`list` of fan-outs; 0: all daemons are connected to the root")
	f.StringVar(&given.policies, "policies", "NON-SHRINKING,GLOBAL-RESTART", "`list` of policies")
	f.StringVar(&given.fails, "fails", "process,node", "`list` of what fails")
	f.DurationVar(&given.timing, "start-timeout", Timing.Start, "how long a daemon may be silent at the start")
	f.DurationVar(&m.Latency, "latency", m.Latency, "between hosts")
	f.DurationVar(&m.Local, "local", m.Local, "between daemon and rank")
	f.Float64Var(&m.Bandwidth, "bandwidth", m.Bandwidth, "of a host's link, bytes per second")
	f.DurationVar(&m.Receive, "receive", m.Receive, "of a message, beside its bytes")
	f.DurationVar(&m.Send, "send", m.Send, "of a message, beside its bytes")
	f.Float64Var(&m.Encode, "encode", m.Encode, "ns for each byte")
	f.Float64Var(&m.Decode, "decode", m.Decode, "ns for each byte")
	f.Float64Var(&m.Copy, "copy", m.Copy, "ns for each byte")
	f.DurationVar(&m.Spawn, "spawn", m.Spawn, "start of a process, one after the other on a node")
	f.DurationVar(&m.Boot, "boot", m.Boot, "of a process until it says Hello")
	f.DurationVar(&m.CleanUp, "clean-up", m.CleanUp, "of a rank before it comes to the repair")
}

func list(t *testing.T, text string) (out []int) {
	for _, s := range strings.Split(text, ",") {
		n, err := strconv.Atoi(s)
		require.NoError(t, err, "-nodes, -ranks, -fan-out")
		out = append(out, n)
	}
	return out
}

// TestTables prints tables, with -tables. What the root's machine has taken of this processor is behind the rows.
func TestTables(t *testing.T) {
	if !given.tables {
		t.Skip("it may take minutes: -tables")
	}
	fmt.Println(StartHead)
	fmt.Println(RecoveryHead)
	for _, nodes := range list(t, given.nodes) {
		for _, ranks := range list(t, given.ranks) {
			for _, fanOut := range list(t, given.fanOut) {
				printRows(Config{Nodes: nodes, Ranks: ranks, FanOut: fanOut, Model: given.model, Timing: Timing})
			}
		}
	}
}

func printRows(c Config) {
	c.Timing.Start = given.timing
	first := true
	for _, policy := range strings.Split(given.policies, ",") {
		for _, fails := range strings.Split(given.fails, ",") {
			c.Policy, c.Fails = driver.Recovery(policy), Failure(fails)
			began := time.Now()
			o, err := Run(c)
			if err != nil {
				fmt.Println(c.Nodes, c.Ranks, c.fanOut(), err)
				return
			}
			if first {
				fmt.Println(StartRow(c, o.Start), "machine", milliseconds(o.Start.Machine), "queue", milliseconds(o.Start.Behind), "pulses", o.Pulses)
			}
			first = false
			fmt.Println(RecoveryRow(c, o.Recovery), "machine", milliseconds(o.Recovery.Machine), "queue", milliseconds(o.Recovery.Behind),
				"took", time.Since(began).Round(time.Second), "heap MB", taken()>>20)
		}
	}
}

func taken() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

// small are the jobs whose rows in docs/recovery-scale.md are checked.
func small() (jobs []Config) {
	for _, size := range [][3]int{{10, 1, 0}, {10, 8, 0}, {100, 1, 0}, {100, 8, 0}, {100, 8, 16}} {
		for _, policy := range Policies {
			for _, fails := range []Failure{Process, Node} {
				jobs = append(jobs, Config{Nodes: size[0], Ranks: size[1], FanOut: size[2], Policy: policy, Fails: fails, Model: Default, Timing: Timing})
			}
		}
	}
	return jobs
}

// TestDocumented: the rows of small jobs are in the document as they are simulated now.
func TestDocumented(t *testing.T) {
	data, err := os.ReadFile("../../../docs/recovery-scale.md")
	require.NoError(t, err)
	documented := func(text string) {
		t.Helper()
		require.True(t, strings.Contains(string(data), "\n"+text+"\n"), "docs/recovery-scale.md has no\n%s", text)
	}
	documented(StartHead)
	documented(RecoveryHead)
	for _, c := range small() {
		o, err := Run(c)
		require.NoError(t, err)
		if c.Policy == driver.NonShrinking {
			documented(StartRow(c, o.Start))
		}
		documented(RecoveryRow(c, o.Recovery))
	}
}
