package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// TestLevelsChaos runs the program on 8 ranks of 4 nodes with storage levels and
// loses nodes: their processes are killed and their directories deleted, while
// the job runs and between two starts of it. After each loss the files that are
// left say which version a restart must find at least (levels_model_linux_test.go). The
// digest must be that of an undisturbed run; without the level pfs no version but the last one, of
// Finish, may get to the parallel file system; and if all is lost the program must say so.
//
//	CRAFT_TEST_SECONDS  how long it goes on (4)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
func TestLevelsChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	c := &levelsChaos{chaos: newChaos(t)}
	for _, p := range c.problems {
		p.want = c.undisturbed(p)
	}
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 4)) * time.Second)
	for c.rounds < minimalRounds || c.kept == 0 || time.Now().Before(until) {
		c.round()
	}
	t.Logf("%d rounds with %d lost nodes (%d in running jobs, %d between jobs), %d times the version expected was found, %d times all was lost; the longest start took %v",
		c.rounds, c.lost, c.inJobs, c.lost-c.inJobs, c.kept, c.gone, c.longest.Round(time.Millisecond))
}

// hung is when a start of the program is taken for one that hangs: far beyond
// what the slowest machine needs.
const hung = 3 * time.Minute

type levelsChaos struct {
	*chaos

	lost, inJobs int // nodes
	kept, gone   int // restarts and recoveries
	longest      time.Duration

	// Of this round:
	what     string
	problem  *chaosProblem
	home     string // directory of the checkpoints
	base     string // of the nodes
	args     []string
	env      []string
	pfs      bool
	noted    bool // a complete version was announced before the last loss
	hurt     bool // a node has been lost: while healing goes on, less is sure
	expected int  // iteration of the newest version that must be there; -1: none
	ends     bool // all that there was may have been lost
}

var chaosLevels = []string{"partner", "xor", "rs", "partner", "xor", "rs", "local,partner:2", "local,xor:3", "local,partner:2,rs:3", "partner,xor:2,rs:4"}

// round is a job, started as often as necessary.
func (c *levelsChaos) round() {
	c.rounds++
	dir := c.t.TempDir()
	c.problem = c.problems[c.rand.IntN(len(c.problems))]
	c.home, c.base = filepath.Join(dir, "cp"), filepath.Join(dir, "nodes")
	policy := chaosLevels[c.rand.IntN(len(chaosLevels))]
	if c.pfs = c.rand.IntN(3) == 0; c.pfs {
		policy += fmt.Sprintf(",pfs:%d", 1+c.rand.IntN(4))
	}
	mode := jobs.Modes[c.rand.IntN(len(jobs.Modes))]
	c.args = append(c.problem.args[:len(c.problem.args):len(c.problem.args)],
		"-np", strconv.Itoa(chaosRanks), "-nodes", strconv.Itoa(chaosNodes), "-spare-nodes", strconv.Itoa(c.rand.IntN(3)),
		"-cp-path", c.home, "-node-path", c.base, "-levels", policy, "-async", string(mode),
		"-cp-freq", strconv.Itoa(c.problem.frequencies[c.rand.IntN(len(c.problem.frequencies))]), "-json")
	c.env = []string{"CRAFT_SYNC=none"} // the machine stays up
	if c.rand.IntN(4) == 0 {
		c.env = append(c.env, "CRAFT_DELTA=1")
	}
	c.noted, c.hurt, c.ends, c.expected = false, false, false, -1
	c.what = fmt.Sprintf("round %d: %v %v", c.rounds, c.args, c.env)
	for losses := c.rand.IntN(4); ; {
		if c.job(&losses) {
			break
		}
	}
	if delta := len(c.env) > 1; !c.pfs && !delta { // that of Finish needs those that it refers to
		versions, err := filepath.Glob(filepath.Join(c.home, "lanczos", "v-*"))
		require.NoError(c.t, err)
		require.LessOrEqual(c.t, len(versions), 1, "%s: versions are on the parallel file system beside the last one, of Finish", c.what)
	}
	require.NoError(c.t, os.RemoveAll(dir))
}

// running is one start of the program.
type running struct {
	*testprogram.Started
	ended chan error
	began time.Time
}

func (c *levelsChaos) start() *running {
	p := &testprogram.Program{T: c.t, Dir: c.temp, Env: c.env}
	r := &running{Started: p.Start(c.args...), ended: make(chan error, 1), began: time.Now()}
	go func() { r.ended <- r.Cmd.Wait() }()
	return r
}

// job is one start: it is disturbed as long as there are losses left. It returns
// true if the job is over.
func (c *levelsChaos) job(losses *int) (over bool) {
	r := c.start()
	for *losses > 0 {
		*losses--
		if err, ended := c.pass(r); ended {
			return c.end(r, err)
		}
		between := c.rand.IntN(3) == 0
		if between {
			c.killJob(r)
		}
		before := len(r.Stderr.String())
		lost := c.lose(c.howMany(), between)
		if between {
			return false // it goes on with the next start
		}
		if lost > 0 {
			c.recovered(r, before)
		}
	}
	return c.end(r, c.wait(r))
}

// pass lets the job run for a while, mostly until there is something to lose.
func (c *levelsChaos) pass(r *running) (err error, ended bool) {
	pause := time.Duration(c.rand.Int64N(int64(c.problem.want.took)))
	needs := c.rand.IntN(5) > 0
	for began := time.Now(); time.Since(began) < pause || needs; {
		select {
		case err := <-r.ended:
			return err, true
		case <-time.After(time.Duration(1+c.rand.IntN(5)) * time.Millisecond):
		}
		if lookAt(c.home, c.visible()).newest(nil) >= 0 {
			needs = false
		}
		if time.Since(r.began) > hung {
			c.hangs(r)
		}
	}
	return nil, false
}

// visible are the directories of the nodes that have ranks now, or, if there are
// none, those of the first ranks of the next start.
func (c *levelsChaos) visible() (dirs []string) {
	for _, p := range c.processes() {
		if p.dir != "" && !slices.Contains(dirs, p.dir) {
			dirs = append(dirs, p.dir)
		}
	}
	if len(dirs) > 0 {
		return dirs
	}
	for i := range chaosNodes {
		dirs = append(dirs, filepath.Join(c.base, fmt.Sprintf("node-%d", i)))
	}
	return dirs
}

func (c *levelsChaos) howMany() int { return []int{1, 1, 1, 1, 2, 2, 3}[c.rand.IntN(7)] }

// killJob kills all processes of the job at once.
func (c *levelsChaos) killJob(r *running) {
	_ = r.Cmd.Process.Kill() // it may have ended just now
	for len(c.processes()) > 0 {
		for _, p := range c.processes() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
	<-r.ended
}

// lose kills nodes, deletes their directories, and looks what is left. It returns
// their number: one node with ranks must be left while the job runs.
func (c *levelsChaos) lose(n int, between bool) int {
	dirs := c.visible()
	slices.Sort(dirs)
	c.rand.Shuffle(len(dirs), func(i, j int) { dirs[i], dirs[j] = dirs[j], dirs[i] })
	if !between {
		n = min(n, 2, len(dirs)-1)
	}
	victims := dirs[:max(0, min(n, len(dirs)))]
	if len(victims) == 0 {
		return 0
	}
	c.noted = c.announced()
	// What the job writes when it has recovered does not count: it may be faster
	// than this test.
	before := lookAt(c.home, dirs).attempts()
	left := dirs[len(victims):]
	sure := -1
	if !c.hurt && len(victims) == 1 {
		sure = lookAt(c.home, left).newest(nil)
	}
	c.hurt = true
	for _, dir := range victims {
		c.killNode(dir)
	}
	for _, dir := range victims {
		require.NoError(c.t, os.RemoveAll(dir), c.what)
		c.lost++
		if !between {
			c.inJobs++
		}
	}
	now := lookAt(c.home, left)
	require.GreaterOrEqual(c.t, now.newest(nil), sure, "%s: the job has made a version less safe, and has no better one", c.what)
	c.expected = max(now.newest(before), sure)
	c.ends = c.noted && c.expected < 0
	c.what += fmt.Sprintf("; lost %d (%v), expected %d", len(victims), between, c.expected)
	return len(victims)
}

// announced reports whether the checkpoint's directory says that there is a version.
func (c *levelsChaos) announced() bool {
	text, _ := os.ReadFile(filepath.Join(c.home, "lanczos", "NODES.json")) // not there: no
	return bytes.Contains(text, []byte(`"newest"`))
}

// killNode kills the daemon of a node and its ranks, and waits until nothing can
// write to its directory any more.
func (c *levelsChaos) killNode(dir string) {
	for {
		left := false
		for _, p := range c.processes() {
			if p.dir == dir {
				left = true
				if p.parent > 1 && p.parent != os.Getpid() && c.isDaemon(p.parent) {
					_ = syscall.Kill(p.parent, syscall.SIGKILL)
				}
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			}
		}
		if !left {
			return
		}
	}
}

func (c *levelsChaos) isDaemon(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(env, []byte("CRAFT_ROLE=daemon\x00"))
}

var nextIteration = regexp.MustCompile(`(?m)^recovered: the next iteration is (\d+)$`)

// recovered waits until the job goes on after a loss, or has ended, and checks
// from where.
func (c *levelsChaos) recovered(r *running, from int) {
	for {
		text := r.Stderr.String()[from:]
		if all := nextIteration.FindAllStringSubmatch(text, -1); len(all) > 0 {
			c.found(all[len(all)-1][1], r)
			return
		}
		select {
		case err := <-r.ended:
			if err == nil { // the ranks had done their work before they were hit
				c.expected, c.ends = -1, false
			}
			r.ended <- err
			return
		case <-time.After(time.Millisecond):
		}
		if time.Since(r.began) > hung {
			c.hangs(r)
		}
	}
}

// found checks where the job went on.
func (c *levelsChaos) found(next string, r *running) {
	n, err := strconv.Atoi(next)
	require.NoError(c.t, err)
	require.Greater(c.t, n, c.expected, "%s\n%s", c.what, &r.Stderr)
	if c.noted {
		require.NotZero(c.t, n, "started from zero without a word: %s\n%s", c.what, &r.Stderr)
	}
	if c.expected >= 0 {
		c.kept++
	}
	c.expected, c.ends = -1, false
}

func (c *levelsChaos) wait(r *running) error {
	select {
	case err := <-r.ended:
		return err
	case <-time.After(hung):
		c.hangs(r)
	}
	return nil
}

// hangs lets the ranks say where they are.
func (c *levelsChaos) hangs(r *running) {
	for _, p := range c.processes() {
		_ = syscall.Kill(p.pid, syscall.SIGQUIT)
	}
	select {
	case <-r.ended:
	case <-time.After(10 * time.Second):
		_ = r.Cmd.Process.Kill()
	}
	c.t.Fatalf("%s: it hangs\n%s", c.what, &r.Stderr)
}

// end looks at a start that has ended by itself.
func (c *levelsChaos) end(r *running, err error) (over bool) {
	took := time.Since(r.began)
	c.longest = max(c.longest, took)
	if testing.Verbose() {
		c.t.Logf("%s: %v in %v", c.what, err, took.Round(time.Millisecond))
	}
	c.nothingLeft(c.what)
	if err != nil {
		return c.failed(r, err)
	}
	var got result
	require.NoError(c.t, json.Unmarshal([]byte(r.Stdout.String()), &got), c.what)
	if c.expected >= 0 || c.ends { // not seen yet
		c.found(strconv.Itoa(max(got.RestartedFrom, 0)), r)
	}
	require.Equal(c.t, c.problem.want.Digest, got.Digest, "%s\n%s", c.what, &r.Stderr)
	return true
}

// failed is the end of a job with an error: allowed if all was lost, which it
// must say, or if ranks were hit after their last step or one of them three times.
func (c *levelsChaos) failed(r *running, err error) (over bool) {
	var exit *exec.ExitError
	require.True(c.t, errors.As(err, &exit), "%s: %v", c.what, err)
	stderr := r.Stderr.String()
	if strings.Contains(stderr, "no usable version") {
		require.Less(c.t, c.expected, 0, "%s\n%s", c.what, stderr)
		c.gone++
		return true
	}
	require.Regexp(c.t, `node lost|signal: killed`, stderr, c.what)
	require.NotContains(c.t, stderr, "panic", c.what)
	if !lateJob.MatchString(stderr) && !strings.Contains(stderr, "--max-repeats") {
		c.t.Fatalf("%s: %v\n%s", c.what, err, stderr)
	}
	c.late++
	// The next start has other nodes, if spare ones were in use.
	c.noted, c.expected = c.announced(), lookAt(c.home, c.visible()).newest(nil)
	c.ends = c.noted && c.expected < 0
	c.what += fmt.Sprintf("; late, expected %d", c.expected)
	return false
}

// lateJob is what the launcher says of a job whose ranks were hit when the zone
// had ended, before they had left.
var lateJob = regexp.MustCompile(`(?m)^lanczos: (job failed: )?rank \d+ \(process \d+ on node \d+\): (node lost|signal: killed)`)
