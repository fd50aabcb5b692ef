package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
)

// momentJob is a job that is asked to end at one of its operations on files, whichever.
type momentJob struct {
	t      *testing.T
	ranks  int // 0: it is one process
	mode   AsyncMode
	levels string

	home  *vfs.Mem
	nodes []*vfs.Mem
}

// momentStart is one of its starts.
type momentStart struct {
	at         int64 // the operation at which it is asked; 0: it is not
	inFinish   bool  // operations are counted from then on alone
	operations atomic.Int64
	finishing  atomic.Bool
	computed   atomic.Int64 // steps of rank 0

	mu      sync.Mutex
	killed  []*vfs.Mem // home as a crash at that operation leaves it
	results []int
}

const momentSteps = 4

func newMomentJob(t *testing.T, ranks int, mode AsyncMode, levels string) *momentJob {
	j := &momentJob{t: t, ranks: ranks, mode: mode, levels: levels, home: vfs.NewMem()}
	j.loseNodes()
	return j
}

func (j *momentJob) loseNodes() {
	j.nodes = nil
	for range max(1, j.ranks) {
		j.nodes = append(j.nodes, vfs.NewMem())
	}
}

// start runs the job once.
func (j *momentJob) start(s *momentStart) error {
	s.results = make([]int, max(1, j.ranks))
	if j.ranks == 0 {
		p := demand.NewLocal()
		return j.rank(j.t.Context(), comm.Self(), 0, s, p, p.Ask)
	}
	cluster := &afttest.Cluster{Nodes: j.ranks}
	return cluster.Run(j.t.Context(), j.ranks, func(ctx context.Context, r *afttest.Rank) error {
		return j.rank(ctx, r.Comm(), r.Node(), s, nil, cluster.Ask)
	})
}

func (j *momentJob) rank(ctx context.Context, c *comm.Comm, node int, s *momentStart, p *demand.Point, ask func(demand.Demand)) (err error) {
	var cp *Checkpoint
	count := func(vfs.Op) error {
		if s.inFinish && !s.finishing.Load() || s.operations.Add(1) != s.at {
			return nil
		}
		ask(end("SIGTERM"))
		s.mu.Lock()
		s.killed = append(s.killed, j.home.Crash(1, nil))
		s.mu.Unlock()
		asked := func() bool { d, _ := cp.meet.point.End(); return d != nil }
		return eventually(asked) // that it has heard of it, whatever it does now
	}
	opts := []Option{
		WithPath("/cp"), WithAsync(j.mode), withLevels(j.levels), WithLogger(slog.New(slog.DiscardHandler)), withFS(vfs.WithErrors(j.home, count)),
		WithNodePath(nodeRoot(node)), func(o *options) { o.nodeFS = vfs.WithErrors(j.nodes[node], count) },
	}
	if p != nil {
		opts = append(opts, withPoint(p))
	}
	if cp, err = New("loop", c, opts...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cp.Close()) }()
	sum, iter := 0, 0
	if err := errors.Join(cp.Add("sum", &sum), cp.Commit(), cp.RestartIfNeeded(ctx, &iter)); err != nil {
		return err
	}
	for ; iter < momentSteps; iter++ {
		if err := cp.Wait(ctx); err != nil {
			return err
		}
		sum = sum*3 + iter + int(c.Rank())
		if c.Rank() == 0 {
			s.computed.Add(1)
		}
		if err := cp.UpdateAndWrite(ctx, iter, 2); err != nil {
			return err
		}
	}
	s.finishing.Store(true)
	if err := cp.Finish(ctx, momentSteps-1); err != nil {
		return err
	}
	s.results[c.Rank()] = sum
	return nil
}

// comesToItsEnd starts the job, which goes on and finishes, and once more: then there is nothing to compute. It returns how
// many steps it has gone on.
func (j *momentJob) comesToItsEnd(what string) (computed int64) {
	var s momentStart
	require.NoError(j.t, j.start(&s), what)
	var again momentStart
	require.NoError(j.t, j.start(&again), what)
	require.Zero(j.t, again.computed.Load(), what)
	for rank, got := range again.results {
		want := 0
		for iter := range momentSteps {
			want = want*3 + iter + rank
		}
		require.Equal(j.t, want, got, what)
		require.Equal(j.t, want, s.results[rank], what)
	}
	return s.computed.Load()
}

// ends asks it at one operation. It ends with 0 or 75, and loses nothing; nor does it if it is killed at that operation. It returns
// false if there were not so many.
func (j *momentJob) ends(s *momentStart) (more bool) {
	err := j.start(s)
	if len(s.killed) == 0 {
		require.NoError(j.t, err)
		return false
	}
	what := fmt.Sprintf("%d ranks, %s, %q, operation %d, in Finish %v: %v", j.ranks, j.mode, j.levels, s.at, s.inFinish, err)
	if err != nil {
		require.ErrorIs(j.t, err, ErrDeadline, what)
		if j.ranks == 0 { // else it is one error of several
			require.Equal(j.t, ExitRequeue, ExitCode(err), what)
		}
	}
	j.loseNodes() // they are given to others
	require.EqualValues(j.t, momentSteps, s.computed.Load()+j.comesToItsEnd(what), "%s: it has gone on from elsewhere", what)
	if killed := *j; j.levels == "" {
		killed.home = s.killed[0]
		_ = killed.home.Remove("/cp/loop/.lock") // of a process that is no more
		killed.comesToItsEnd("killed, " + what)
	}
	return true
}

// TestEndAtAnyOperation has jobs be asked for their end at operations on files all through them, from the first to the last;
// CRAFT_TEST_SECONDS has all kinds be asked at each.
func TestEndAtAnyOperation(t *testing.T) { endAtOperations(t, false, 48) }

// TestEndInFinish does so in Finish.
func TestEndInFinish(t *testing.T) { endAtOperations(t, true, 20) }

func endAtOperations(t *testing.T, inFinish bool, apart int64) {
	var jobs []momentJob
	for _, mode := range allModes {
		for _, levels := range []string{"", "local:1,pfs:1000"} {
			jobs = append(jobs, momentJob{ranks: 0, mode: mode, levels: levels}, momentJob{ranks: 2, mode: mode, levels: levels})
		}
		jobs = append(jobs, momentJob{ranks: 2, mode: mode, levels: "partner:1,pfs:1000"})
	}
	if os.Getenv("CRAFT_TEST_SECONDS") != "" {
		apart = 1
	}
	rng := testseed.Rand(t)
	for _, j := range sample(t, jobs, 3) {
		moments := 0
		for at := 1 + rng.Int64N(apart); newMomentJob(t, j.ranks, j.mode, j.levels).ends(&momentStart{at: at, inFinish: inFinish}); at += 1 + rng.Int64N(apart) {
			moments++
		}
		require.Positive(t, moments)
		t.Logf("%d ranks, %s, %q: %d moments", j.ranks, j.mode, j.levels, moments)
	}
}
