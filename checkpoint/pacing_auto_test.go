package checkpoint

import (
	"context"
	"encoding/hex"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint/internal/trigger"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// TestAuto: from the cost of versions, and says why.
func TestAuto(t *testing.T) {
	for _, c := range []struct {
		mode  string
		takes time.Duration
		freq  int
	}{{"off", 2 * time.Second, 0}, {"copy", 2 * time.Second, 0}, {"off", 0, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var log syncBuffer
			p := newPaced(t, nil, vfs.NewMem(), WithTriggers(Auto(MTBF(24*time.Hour))), WithAsync(AsyncMode(c.mode)),
				WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			p.value.takes = c.takes
			p.begin(t, t.Context())
			require.NoError(t, p.steps(t.Context(), 2500, 0, 20*time.Second))
			n := p.cp.line.attempt.last
			want := 50000 / max(trigger.Daly(c.takes, 24*time.Hour).Seconds(), 20)
			if c.takes > 0 {
				require.InEpsilon(t, want, n, 0.15)
				require.Contains(t, log.String(), "failure_rate=given")
				require.Contains(t, log.String(), "cost=2")
			} else {
				require.Greater(t, n, uint64(1000), "it costs nothing")
			}
			require.NoError(t, p.cp.Close())
		})
	}
}

// TestAutoMaxLoss: with nothing known no more than that is lost.
func TestAutoMaxLoss(t *testing.T) {
	t.Setenv("CRAFT_MAX_LOSS", "20m")
	synctest.Test(t, func(t *testing.T) {
		var log syncBuffer
		p := newPaced(t, nil, vfs.NewMem(), WithTriggers(Auto()), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		p.value.takes = time.Minute
		p.begin(t, t.Context())
		last := p.iter
		for range 2000 {
			require.NoError(t, p.steps(t.Context(), 1, 0, 10*time.Second))
			if n := len(p.made); n > 0 && p.made[n-1] > last {
				require.LessOrEqual(t, p.made[n-1]-last, 19*6, "that, and the minute of the version")
				last = p.made[n-1]
			}
		}
		require.Greater(t, last, 1800)
		require.Contains(t, log.String(), "CRAFT_MAX_LOSS=20m0s")
		require.Contains(t, log.String(), "no failure was seen")
		require.NoError(t, p.cp.Close())
	})
}

// TestAutoLearnsFromRecords: how often the job has failed.
func TestAutoLearnsFromRecords(t *testing.T) {
	home := vfs.NewMem()
	s, err := filestore.New(filestore.Config{Path: "/pfs", Name: "paced", FS: home})
	require.NoError(t, err)
	p := newPaced(t, nil, home)
	require.NoError(t, p.cp.Write(t.Context()))
	require.NoError(t, p.cp.Close())
	began := time.Now().Add(-100 * time.Hour)
	for i := range 6 {
		start := began.Add(time.Duration(i) * 10 * time.Hour)
		require.NoError(t, s.Record(t.Context(), storage.Record{
			Format: 1, Checkpoint: "paced", Attempt: hex.EncodeToString([]byte{0, 0, 0, 0, 0, 0, 0, byte(i)}),
			Host: "other", PID: i, Started: start, Updated: start.Add(2 * time.Hour),
		}))
	}
	p = newPaced(t, nil, home, WithTriggers(Auto()))
	p.begin(t, t.Context())
	f := p.cp.pace.own.failures
	require.Equal(t, 6, f.Count, "the last of them has not ended either, and the first version has")
	require.InDelta(t, 12*time.Hour, f.Time, float64(time.Hour))
	require.False(t, p.cp.pace.own.schedule.Plan().Bounded)
	require.NoError(t, p.cp.Close())
}

// TestAutoChoosesLevels: the rare failures get the expensive versions, whatever the periods were.
func TestAutoChoosesLevels(t *testing.T) {
	node := filepath.Join(t.TempDir(), "node")
	synctest.Test(t, func(t *testing.T) {
		var log syncBuffer
		p := newPaced(t, nil, vfs.NewMem(), WithTriggers(Auto(MTBF(2*time.Hour))), withLevels("local:1,pfs:40"), WithNodePath(node),
			WithLogger(slog.New(slog.NewTextHandler(&log, nil))), func(o *options) { o.nodeFS = vfs.NewMem() })
		p.value.takes = 2 * time.Second
		p.begin(t, t.Context())
		var plans []storage.Levels
		for range 1000 {
			last := p.cp.line.attempt.last
			require.NoError(t, p.steps(t.Context(), 1, 0, 5*time.Second))
			if next := p.cp.line.attempt.last; next > last {
				plans = append(plans, p.cp.placement.Plan(next))
			}
		}
		flushed := 0
		for i, plan := range plans[5:] {
			require.NotZero(t, plan.On(storage.TierNode), i)
			if plan.AtHome() {
				flushed++
			}
		}
		require.Greater(t, flushed, len(plans)/10)
		require.Less(t, flushed, len(plans)*2/3)
		require.Contains(t, log.String(), "local=")
		require.Contains(t, log.String(), "pfs=")
		require.NoError(t, p.cp.Close())
	})
}

// The shares of failures that levels are needed for.
func TestSharesOfLevels(t *testing.T) {
	for text, want := range map[string][]float64{
		"local":                          {1},
		"local:1,pfs:10":                 {0.4, 0.6},
		"local:1,partner:10,pfs:100":     {0.4, 0.45, 0.15},
		"mem:1,local:5,rs:10,pfs:100":    {0.85, 0.01, 0.1, 0.05},
		"pfs:100,partner:10,local:1":     {0.4, 0.45, 0.15},
		"process:1,local:10,partner:100": {0.4, 0.01, 0.6},
	} {
		policy, err := storage.ParsePolicy(text)
		require.NoError(t, err)
		core := &core{opt: options{}}
		core.opt.Levels, core.opt.UseSCR, core.opt.triggers = policy.String(), true, trigger.Rules{Auto: true}
		var got []float64
		for _, l := range autoLevels(newPacing(core, nil, nil).ordered) {
			got = append(got, l.Share)
		}
		require.InDeltaSlice(t, want, got, 1e-9, text)
	}
}

// TestAutoOutlivesFailures: what was learned is there after each repair, also when the rank that decides is lost, and is
// kept once.
func TestAutoOutlivesFailures(t *testing.T) {
	w := newMemoryWorld(t, 3, 3, "partner:1", WithTriggers(Auto(), Every(1)))
	w.until = 20
	versions := make(chan int, 100)
	w.step = func(p *memoryProgram) error {
		k := p.cp.pace.own
		if k.calls == 1 && p.epoch() > 0 { // the ranks have met when the first version was written
			versions <- k.schedule.Learned().Versions()
			require.Equal(t, p.epoch(), k.failures.Count, "rank %d", p.c.Rank())
		}
		die := map[int]comm.Rank{0: 1, 1: 0, 2: 0}
		victim, any := die[p.epoch()]
		if !any || p.iter < 6*(p.epoch()+1) {
			return nil
		}
		if err := comm.Barrier(context.Background(), p.c); err != nil {
			return err
		}
		if p.c.Rank() == victim {
			p.rank.Die()
		}
		_, err := comm.AllreduceOne(context.Background(), p.c, 0, comm.Sum)
		return err
	}
	w.run()
	close(versions)
	n := 0
	for known := range versions {
		require.GreaterOrEqual(t, known, 5)
		n++
	}
	require.Equal(t, 9, n, "three ranks after each of three failures")
}
