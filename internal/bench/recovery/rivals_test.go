package recovery

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/bench/measured"
	"github.com/craft-go/craft/internal/stepwise"
	"github.com/craft-go/craft/internal/testprogram"
)

// rival is a way to go on after a failure.
type rival struct {
	name   string
	policy string
	env    []string
	args   []string
}

const (
	plainRestart = "one process started again by its parent"
	globally     = "GLOBAL-RESTART"
	locally      = "NON-SHRINKING"
)

// rivals: of several failures in a job the median counts. A node can be lost once, and all started again. There is a pause before
// each failure, in which a spare rank that was taken is replaced.
var rivals = []rival{
	{name: globally, policy: globally, args: []string{"-rounds", "3"}},
	{name: locally, policy: locally, args: []string{"-rounds", "3"}},
	{name: "ULFM, call by call", policy: locally, env: []string{stepwise.Variable + "=1"}, args: []string{"-rounds", "3"}},
	{name: "CR", policy: "ABORT", args: []string{"-rounds", "1", "-restarts", "1"}},
	{name: globally + ", spare rank", policy: globally, args: []string{"-rounds", "3", "-spare-ranks", "1"}},
	{name: globally + ", spare rank, 1 s before the zone", policy: globally, args: []string{"-rounds", "1", "-spare-ranks", "1", "-before", "1s"}},
	{name: globally + ", node", policy: globally, args: []string{"-rounds", "1", "-spare-nodes", "1", "-kill-node"}},
	{name: locally + ", node", policy: locally, args: []string{"-rounds", "1", "-spare-nodes", "1", "-kill-node"}},
}

const detected = ", until rank 0 knew"

// BenchmarkRivals measures in turn how long it takes from a kill until all have met again, and what a parent
// needs to start a single process again. Figures are medians and 95 % intervals over -rounds, also as multiples,
// round by round.
func BenchmarkRivals(b *testing.B) {
	var times measured.Things // ms
	p := testprogram.New(b)
	for round := range given.rounds {
		times.Add(plainRestart, plainly(p))
		if given.rival != "" {
			times.Add("the command of -rival", elapsed(b, given.rival))
		}
		for i := range rivals {
			rivals[(i+round)%len(rivals)].measure(p, &times)
		}
	}
	b.ReportMetric(0, "ns/op")
	fmt.Println("\n" + table(times))
}

// table has a row for each thing: ms, and how many times as long as others it takes, round by round.
func table(times measured.Things) string {
	var text strings.Builder
	with := []string{plainRestart, globally, locally}
	fmt.Fprintf(&text, "| | ms | times %s |\n|%s\n", strings.Join(with, " | times "), strings.Repeat(" --- |", 2+len(with)))
	cell := func(i measured.Interval, scale float64) {
		fmt.Fprintf(&text, " %.3g (%.3g to %.3g) |", i.Median*scale, i.Low*scale, i.High*scale)
	}
	for _, what := range times.Order {
		fmt.Fprintf(&text, "| %s |", what)
		cell(measured.IntervalOf(times.Of[what]), 1)
		for _, other := range with {
			if i, ok := times.Percent(what, other); ok && other != what {
				cell(i, 0.01)
			} else {
				text.WriteString(" |")
			}
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// measure runs one job.
func (v rival) measure(p *testprogram.Program, times *measured.Things) {
	p.Env = append([]string{"CRAFT_COMM_RECOVERY_POLICY=" + v.policy}, v.env...)
	var r result
	out := p.Start(append([]string{"-np", "8", "-nodes", "4", "-what", "again", "-pause", "100ms"}, v.args...)...).End(0).Stdout.String()
	require.NoError(p.T, json.Unmarshal([]byte(out), &r), out)
	for _, f := range r.Figures {
		switch f.What {
		case whatAgain:
			times.Add(v.name, f.Median/1e3)
		case whatDetected:
			times.Add(v.name+detected, f.Median/1e3)
		}
	}
}

// plainly is what a parent needs, in ms, to see that its child was killed, start the same program again, and read its
// first byte.
func plainly(p *testprogram.Program) float64 {
	p.Env = nil
	child := p.Start("-what", "sleep")
	time.Sleep(20 * time.Millisecond) // it has begun to sleep; not measured
	began := time.Now()
	require.NoError(p.T, child.Cmd.Process.Kill())
	_ = child.Cmd.Wait() // killed
	next := p.Command("-what", "byte")
	next.Cmd.Stdout = nil
	out, err := next.Cmd.StdoutPipe()
	require.NoError(p.T, err)
	require.NoError(p.T, next.Cmd.Start())
	_, err = io.ReadFull(out, make([]byte, 1))
	took := time.Since(began)
	require.NoError(p.T, err)
	require.NoError(p.T, next.Cmd.Wait())
	return took.Seconds() * 1e3
}

// elapsed is how long a command takes, in ms.
func elapsed(b *testing.B, command string) float64 {
	began := time.Now()
	out, err := exec.CommandContext(b.Context(), "sh", "-c", command).CombinedOutput()
	require.NoError(b, err, "%s", out)
	return time.Since(began).Seconds() * 1e3
}

// TestRivals: each of them goes on after its failures.
func TestRivals(t *testing.T) {
	var times measured.Things
	p := testprogram.New(t)
	for _, v := range rivals {
		v.measure(p, &times)
		require.Len(t, times.Of[v.name], 1, v.name)
	}
	require.Positive(t, plainly(p))
}
