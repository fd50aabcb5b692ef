package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/craft-go/craft/internal/timeline"
)

// site is where jobs run.
type site struct {
	shape
	bin  string        // directory of craft and the programs
	dir  string        // in which each job has a directory
	most time.Duration // that a job may take
}

// result is what a program prints, as far as it matters here.
type result struct {
	Iterations int    `json:"iterations"`
	Ranks      int    `json:"ranks"`
	Recoveries int    `json:"recoveries"`
	Digest     string `json:"digest"`
}

// run runs a job, and divides its time.
func (s site) run(ctx context.Context, p program, v variant, f failure, who victim) (r result, t times, err error) {
	dir, err := os.MkdirTemp(s.dir, "job-")
	if err != nil {
		return r, t, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	events := filepath.Join(dir, "timeline")
	ctx, cancel := context.WithTimeoutCause(ctx, s.most, fmt.Errorf("it has not ended after %v (-timeout)", s.most))
	defer cancel()

	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "craft"), s.arguments(p, v, f, who)...)
	cmd.Env = append(os.Environ(), "CRAFT_CP_PATH="+filepath.Join(dir, "cp"), "CRAFT_LEVELS="+v.levels(), "CRAFT_NODE_PATH="+filepath.Join(dir, "nodes"), timeline.Variable+"="+events)
	cmd.Env = append(cmd.Env, v.environment...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C comes to it once, from here
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second // then it is killed, and its daemons end by themselves
	began := time.Now()
	err = cmd.Run()
	total := time.Since(began)
	if ctx.Err() != nil {
		return r, t, context.Cause(ctx)
	}
	if err == nil {
		r, err = readResult(&out)
	}
	if err != nil {
		return r, t, fmt.Errorf("craft %s: %w\n%s", strings.Join(cmd.Args[1:], " "), err, &log)
	}
	noted, err := timeline.Read(events)
	if err != nil {
		return r, t, err
	}
	if _, killed := firstKill(noted); killed != (f != none) {
		return r, t, fmt.Errorf("craft %s: the failure has not happened", strings.Join(cmd.Args[1:], " "))
	}
	t, err = split(total, noted, s.ranks)
	return r, t, err
}

// arguments are those of craft.
func (s site) arguments(p program, v variant, f failure, who victim) []string {
	args := []string{"run", "-n", strconv.Itoa(s.ranks), "--nodes", strconv.Itoa(s.nodes), "--spare-nodes", "1", "--spawn", "REUSE"}
	args = slices.Concat(args, v.args, []string{"--", filepath.Join(s.bin, p.name)}, p.args, []string{"-json"})
	switch f {
	case process:
		args = append(args, "-kill", fmt.Sprintf("%d@%d", who.Rank, who.Iteration))
	case node:
		args = append(args, "-kill-node", fmt.Sprintf("%d@%d", who.Node, who.Iteration))
	}
	return args
}

// readResult reads the last line.
func readResult(out io.Reader) (r result, err error) {
	text, err := io.ReadAll(out)
	if err != nil {
		return r, err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		return r, fmt.Errorf("its result %q: %w", lines[len(lines)-1], err)
	}
	if r.Digest == "" {
		return r, fmt.Errorf("its result has no digest: %s", lines[len(lines)-1])
	}
	return r, nil
}
