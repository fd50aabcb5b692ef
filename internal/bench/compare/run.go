package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/craft-go/craft/internal/bench/machine"
	"github.com/craft-go/craft/internal/bench/measured"
)

// notHere is the exit code of a command that cannot measure on this machine.
const notHere = 77

// results are the times of each measurement, by round.
type results struct {
	times  map[string][]float64
	absent map[string]bool
	busy   []float64 // share of the machine that others used before each measurement, in percent
}

// run makes all measurements of a plan, one after the other, so many times; none of them may
// take longer than most.
func run(ctx context.Context, p plan, rounds int, quiet, most time.Duration, log io.Writer) (results, error) {
	r := results{times: make(map[string][]float64), absent: make(map[string]bool)}
	for round := range rounds {
		var command string // the last one, and what it has printed
		var out []byte
		var left bool // it cannot measure on this machine
		for _, m := range p.measurements {
			if r.absent[m.name] {
				continue
			}
			var err error
			if m.command != command {
				r.busy = append(r.busy, machine.WaitUntilQuiet(ctx, quiet))
				command = m.command
				out, err = m.run(ctx, most, log)
				var exit *exec.ExitError
				left = errors.As(err, &exit) && exit.ExitCode() == notHere
			}
			if left { // with all that would be read from its output
				r.absent[m.name] = true
				continue
			}
			var ms float64
			if err == nil {
				ms, err = m.read(out)
			}
			if err != nil {
				return r, fmt.Errorf("round %d: %s: %w", round+1, m.name, err)
			}
			r.times[m.name] = append(r.times[m.name], ms)
			fmt.Fprintf(log, "round %d of %d: %s: %.1f ms\n", round+1, rounds, m.name, ms)
		}
	}
	return r, nil
}

// run ends the command with all that it has started if it takes too long.
func (m measurement) run(ctx context.Context, most time.Duration, log io.Writer) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("it has not ended after %v (-timeout)", most))
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", m.command)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second // for who has left the group, and holds the output
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, err
}

// read finds the time in what the command has printed.
func (m measurement) read(out []byte) (ms float64, err error) {
	var all []float64
	for _, found := range m.figure.FindAllSubmatch(out, -1) {
		one, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil || !(one >= 0) || math.IsInf(one, 0) { // NaN, too, is read as a number
			return 0, fmt.Errorf("%q is no time (wanted: milliseconds, 0 or more)", found[1])
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("nothing that it has printed matches %v", m.figure)
	}
	return measured.IntervalOf(all).Median, nil
}

// ratio is that of two measurements, round by round; zero if one of them is absent.
func (r results) ratio(of ratio) measured.Interval {
	var all []float64
	for i := range min(len(r.times[of.one]), len(r.times[of.other])) {
		all = append(all, r.times[of.one][i]/r.times[of.other][i])
	}
	return measured.IntervalOf(all)
}
