package checkpoint

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
)

// TestEvictedLeavesItsMemory: of two ranks with two copies of each part one is killed, while the body of the other one
// does not end in the roll-back: the last copies of both parts are in a process that is replaced, and nothing
// is lost.
func TestEvictedLeavesItsMemory(t *testing.T) {
	for _, spare := range []int{0, 1} {
		t.Run(fmt.Sprint(spare, " spare"), func(t *testing.T) {
			k := &memoryKilling{t: t, rand: testseed.Rand(t), mark: testprocess.Mark(t), counts: make(map[string]int)}
			j := &killedJob{ended: make(chan error, 1), stderr: new(testprogram.Output)}
			j.memoryJob = memoryJob{
				Dir: t.TempDir(), Mode: "off", Copies: 2, Levels: "mem", Local: true, Cells: 20_000,
				Stuck: []memoryDeath{{Original: 1, Event: 20}}, StuckFor: time.Minute,
			}
			j.cfg = launch.Config{
				Ranks: 2, Nodes: 2, SpareRanks: 2 * spare, NodePath: j.file("nodes"), Policy: comm.Policy{Recovery: comm.GlobalRestart, Spawn: comm.Reuse}, NoSignals: true,
			}
			k.start(j)
			k.until(j, func() bool { return k.count(j, "stuck-0") > 0 })
			stuck, err := os.ReadFile(j.file("stuck", 0))
			require.NoError(t, err)
			k.until(j, func() bool { return k.count(j, "told-*") == 2 }) // a version is in memory
			before, err := j.told()
			require.NoError(t, err)
			for _, n := range k.mark.Nodes(t, nil) {
				for _, pid := range n.Ranks {
					if _, err := os.Stat(j.file("told", pid)); err == nil && fmt.Sprint(pid) != string(stuck) { // it is not spare
						require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
					}
				}
			}
			k.goesOn(j)
			require.NoError(t, os.WriteFile(j.file("end"), nil, 0o600))
			require.NoError(t, k.end(j), j.stderr)
			k.mark.NoneLeft(t)
			require.Zero(t, k.count(j, "gone-*"))
			require.Equal(t, 1, strings.Count(j.stderr.String(), "took over the versions in memory"), j.stderr)
			now, err := j.told()
			require.NoError(t, err)
			require.Greater(t, now.steps, before.steps)
			require.Contains(t, j.stderr.String(), fmt.Sprintf("iteration=%d ", before.steps-1), "what was written last")
		})
	}
}
