package aft_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/stepwise"
	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
)

// TestRecoveriesLeakNothing compares the root, the daemons and a survivor after a few recoveries and after many.
//
//	CRAFT_TEST_ROUNDS  how many recoveries there are (10, of two of the jobs)
//	CRAFT_TEST_SEED    which jobs these are
func TestRecoveriesLeakNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	// Levels have the period of an attempt's steps, so that as many versions are kept at any time.
	many := testseed.Number(t, "CRAFT_TEST_ROUNDS", 10)
	jobs := []struct {
		name, levels, way string
		env               []string
		cfg               launch.Config
	}{
		{name: "NON-SHRINKING", cfg: launch.Config{Policy: comm.Policy{Recovery: comm.NonShrinking}}},
		{name: "ULFM", levels: "mem", env: []string{stepwise.Variable + "=1"}, cfg: launch.Config{Policy: comm.Policy{Recovery: comm.NonShrinking}}},
		{name: "GLOBAL-RESTART", levels: "local:1,partner:1,pfs:3", env: []string{"CRAFT_WRITE_ASYNC=1"}, cfg: launch.Config{Policy: comm.Policy{Recovery: comm.GlobalRestart}}},
		{name: "spare rank", levels: "mem", cfg: launch.Config{SpareRanks: 1, Policy: comm.Policy{Recovery: comm.GlobalRestart}}},
		{name: "evictions", levels: "mem:1,pfs:3", way: "evict", cfg: launch.Config{Policy: comm.Policy{Recovery: comm.GlobalRestart}}},
	}
	if many <= 10 {
		testseed.Rand(t).Shuffle(len(jobs), func(i, k int) { jobs[i], jobs[k] = jobs[k], jobs[i] })
		jobs = jobs[:2]
	}
	for _, c := range jobs {
		t.Run(c.name, func(t *testing.T) {
			j := &recurringJob{t: t, dir: t.TempDir(), temp: t.TempDir(), mark: testprocess.Mark(t)}
			t.Setenv("TMPDIR", j.temp)
			t.Setenv("CRAFT_LEVELS", c.levels)
			early := min(20, many/2)
			c.cfg.Args, c.cfg.Env = []string{j.dir, "recurring", strconv.Itoa(many), strconv.Itoa(early), c.way}, append(c.env, "CRAFT_SYNC=none", recurringProfile, "GORACE=atexit_sleep_ms=10")
			j.start(c.cfg)
			j.measure(j.measure(nil))
			<-j.ended
			require.NoError(t, j.err, &j.output)
			require.Zero(t, j.code, &j.output)
			j.mark.NoneLeft(t)
		})
	}
}

// recurringJob is the test's side.
type recurringJob struct {
	t         *testing.T
	dir, temp string
	mark      testprocess.Marked
	output    testprogram.Output
	ended     chan struct{}
	code      int
	err       error
}

func (j *recurringJob) start(cfg launch.Config) {
	cfg.Program, cfg.Ranks, cfg.Nodes, cfg.Repeats, cfg.NodePath = os.Args[0], 4, 2, 1000, filepath.Join(j.dir, "nodes")
	cfg.Policy.Spawn, cfg.NoSignals, cfg.Stdout, cfg.Stderr = comm.Reuse, true, &j.output, &j.output
	cfg.Timing.Lease = time.Minute
	cfg.Logger, j.ended = slog.New(slog.NewTextHandler(&j.output, nil)), make(chan struct{})
	go func() {
		defer close(j.ended)
		ctx, cancel := context.WithTimeout(j.t.Context(), 10*time.Minute)
		defer cancel()
		j.code, j.err = launch.Run(ctx, cfg)
	}()
}

// everything is what a job has at a moment.
type everything struct {
	epoch     int
	processes int // zombies as well
	usage     map[string]usage
	records   int // of attempts
	files     []string
	bytes     int64
	temporary int
}

// Of what a runtime has now more, now less, a little is no leak: each recovery would add to it.
const (
	keptRecords   = 10
	slackMappings = 25
	slackThreads  = 6
	slackHeap     = 1 << 20
	slackResident = 24 << 20
)

// measure looks at a job that waits, until it has no more than at first.
func (j *recurringJob) measure(first *everything) *everything {
	last := first != nil
	name := filepath.Join(j.dir, fmt.Sprint("usage-", last))
	for {
		if _, err := os.Stat(name); err == nil {
			break
		}
		select {
		case <-j.ended:
			require.FailNow(j.t, "the job has ended", "last: %v, code %d, %v\n%s", last, j.code, j.err, &j.output)
		case <-time.After(5 * time.Millisecond):
		}
	}
	var now *everything
	var more []string
	for deadline := time.Now().Add(settled); ; time.Sleep(50 * time.Millisecond) {
		before := now
		now = j.look(name)
		if first == nil { // what ends with an attempt may take a moment: until it is the same twice
			if before != nil && before.processes == now.processes && len(before.files) == len(now.files) && sameUsage(before.usage, now.usage) {
				break
			}
		} else if more = moreThan(first, now); len(more) == 0 {
			break
		}
		if time.Now().After(deadline) {
			require.NotNil(j.t, first, "it does not settle: %+v, %+v", before, now)
			require.FailNow(j.t, "leaks", "%s\nat first %+v\nat last  %+v\n%s", strings.Join(more, "\n"), *first, *now, &j.output)
		}
	}
	require.NoError(j.t, os.WriteFile(filepath.Join(j.dir, fmt.Sprint("seen-", last)), nil, 0o600))
	j.t.Logf("%+v", *now)
	return now
}

// settled is long after what ends with an attempt.
const settled = 20 * time.Second

func sameUsage(a, b map[string]usage) bool {
	for who, u := range a {
		v, ok := b[who]
		if !ok || u.Descriptors != v.Descriptors || u.Goroutines != v.Goroutines || u.Mappings != v.Mappings {
			return false
		}
	}
	return len(a) == len(b)
}

// moreThan says what there is more of.
func moreThan(first, now *everything) (more []string) {
	add := func(who, what string, a, b, slack int64) {
		if b > a+slack {
			more = append(more, fmt.Sprintf("%s: %s: %d, at first %d", who, what, b, a))
		}
	}
	add("job", "records of attempts", keptRecords, int64(now.records), 0)
	add("job", "processes", int64(first.processes), int64(now.processes), 0)
	add("job", "files", int64(len(first.files)), int64(len(now.files)), 2)
	add("job", "bytes in files", first.bytes, now.bytes, 1<<20)
	add("job", "temporary files", int64(first.temporary), int64(now.temporary), 0)
	for who, u := range now.usage {
		v, ok := first.usage[who]
		if !ok {
			more = append(more, who+": it was not there")
		}
		add(who, "descriptors", int64(v.Descriptors), int64(u.Descriptors), 0)
		add(who, "memfds", int64(v.Memfds), int64(u.Memfds), 0)
		add(who, "mappings", int64(v.Mappings), int64(u.Mappings), slackMappings)
		add(who, "threads", int64(v.Threads), int64(u.Threads), slackThreads)
		add(who, "goroutines", int64(v.Goroutines), int64(u.Goroutines), 0)
		add(who, "heap", v.Heap, u.Heap, slackHeap)
		add(who, "resident", v.Resident, u.Resident, slackResident)
	}
	return more
}

// look sees all of it.
func (j *recurringJob) look(name string) *everything {
	e := &everything{usage: make(map[string]usage)}
	var err error
	e.usage["root"], err = ownUsage()
	require.NoError(j.t, err)
	text, err := os.ReadFile(name)
	require.NoError(j.t, err)
	var rank told
	require.NoError(j.t, json.Unmarshal(text, &rank))
	require.False(j.t, rank.Replacement, "it is to be a survivor")
	e.usage["rank 0"], e.epoch = rank.Usage, rank.Epoch
	daemons := []int{}
	for _, p := range j.mark.Processes(j.t) {
		if p.Variable("CRAFT_ROLE") == "daemon" {
			daemons = append(daemons, p.PID)
		}
	}
	slices.Sort(daemons)
	for i, pid := range daemons {
		if u, err := usageOf(pid); err == nil {
			e.usage[fmt.Sprint("daemon ", i)] = u
		}
	}
	e.processes = descendants(append(daemons, os.Getpid()))
	_ = filepath.WalkDir(j.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() || filepath.Dir(path) == j.dir: // it was removed meanwhile, or is the test's
			return nil
		case strings.HasPrefix(d.Name(), "RUN-"):
			e.records++
			return nil
		}
		if info, err := d.Info(); err == nil {
			e.files, e.bytes = append(e.files, strings.TrimPrefix(path, j.dir)), e.bytes+info.Size()
		}
		return nil
	})
	temporary, err := os.ReadDir(j.temp)
	require.NoError(j.t, err)
	e.temporary = len(temporary)
	return e
}

// descendants are the children of some processes, those that have ended and were not waited for too.
func descendants(parents []int) (n int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if parent, _ := strconv.Atoi(fields[1]); slices.Contains(parents, parent) {
			n++
		}
	}
	return n
}
