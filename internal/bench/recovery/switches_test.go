package recovery

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/bench/program"
)

// switches counts the context switches of all processes of the job in one operation, from those that all ranks
// have done so often: the machine's speed does not matter to them, nor what else it does, much.
func (m *measurement) switches(ctx context.Context, c *comm.Comm) error {
	pids, err := program.Processes(ctx, c)
	if err != nil {
		return err
	}
	work, err := c.Dup(ctx)
	if err != nil {
		return err
	}
	for _, op := range []struct {
		what string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"agree", func() error { _, err := work.Agree(ctx, 1); return err }},
		{"shrink", func() error {
			fewer, err := work.Shrink(ctx)
			if err == nil {
				fewer.Free()
			}
			return err
		}},
	} {
		if err := m.count(ctx, c, pids, op.what, op.do); err != nil {
			return err
		}
	}
	return nil
}

// count has all ranks do something many times, while rank 0 counts.
func (m *measurement) count(ctx context.Context, c *comm.Comm, pids []int, what string, do func() error) error {
	const times = 100
	for range m.rounds {
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		before, err := jobSwitches(pids)
		if err != nil {
			return err
		}
		for range times {
			if err := do(); err != nil {
				return err
			}
		}
		after, err := jobSwitches(pids)
		if err != nil {
			return err
		}
		for kind := range after {
			m.result.times.Add(fmt.Sprintf("%s: context switches of %s", what, kinds[kind]), float64(after[kind]-before[kind])/times)
		}
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

var kinds = []string{"ranks", "daemons", "the root"}

// jobSwitches are those of ranks, their daemons, and the root, so far.
func jobSwitches(ranks []int) (sum [3]int, err error) {
	of := map[int]int{}
	for _, rank := range ranks {
		daemon, err := parent(rank)
		if err != nil {
			return sum, err
		}
		root, err := parent(daemon)
		if err != nil {
			return sum, err
		}
		of[rank], of[daemon], of[root] = 0, 1, 2
	}
	for pid, kind := range of {
		n, err := processSwitches(pid)
		if err != nil {
			return sum, err
		}
		sum[kind] += n
	}
	return sum, nil
}

func parent(pid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return statusNumber(b, "PPid:")
}

// processSwitches are those of all threads.
func processSwitches(pid int) (sum int, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return 0, err
	}
	for _, file := range threads {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		for _, name := range []string{"voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"} {
			n, err := statusNumber(b, name)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}

func statusNumber(status []byte, name string) (int, error) {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			return strconv.Atoi(string(bytes.TrimSpace(rest)))
		}
	}
	return 0, fmt.Errorf("no %s in the status of a process", name)
}
