package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
)

// endingScenario is the program of TestJobsEndAtAnyMoment.
const endingScenario = "ending"

// endingJob is what it computes, and how.
type endingJob struct {
	Dir        string
	Processes  int // ranks that are processes; 0: it is one, or
	Goroutines int // ranks that are goroutines
	Steps      int
	Step       time.Duration // of one
	Grow       int           // the steps of the second half take so many times as long; 0: as long
	Skew       time.Duration // that each rank is slower than the one before
	Talk       bool          // ranks exchange something in each step
	Cells      int
	Mode       AsyncMode
	Every      int
	Save       time.Duration // that a version takes at least
	Levels     string
	Nodes      int
	Spin       bool // a goroutine for each processor does nothing but compute
}

func (j endingJob) ranks() int { return max(1, j.Processes, j.Goroutines) }

// endingState is what a rank has.
type endingState struct {
	Sum   uint64
	Cells []uint64
}

// compute is a step; others is what the ranks have exchanged before.
func (s *endingState) compute(rank, iter int, others uint64) {
	s.Sum = (s.Sum+uint64(iter))*6364136223846793005 + uint64(rank) + others
	for i := iter % 97; i < len(s.Cells); i += 97 {
		s.Cells[i] += s.Sum ^ uint64(i)
	}
}

// digest is that of all ranks' states, in their order.
func digestOf(states []endingState) string {
	h := sha256.New()
	for _, s := range states {
		_ = binary.Write(h, binary.LittleEndian, s.Sum)
		_ = binary.Write(h, binary.LittleEndian, s.Cells)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// expected is the digest of an undisturbed run.
func (j endingJob) expected() string {
	states := make([]endingState, j.ranks())
	for r := range states {
		states[r].Cells = make([]uint64, j.Cells)
	}
	for iter := range j.Steps {
		others := uint64(0)
		for _, s := range states {
			others += s.Sum
		}
		if !j.Talk {
			others = 0
		}
		for r := range states {
			states[r].compute(r, iter, others)
		}
	}
	return digestOf(states)
}

// runEnding is main of the program.
func runEnding(arg string) int {
	var j endingJob
	if err := json.Unmarshal([]byte(arg), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx := context.Background()
	OnSignal(ctx)
	if j.Processes > 0 {
		code, started, err := launch.Self(ctx, j.Processes, func(c *launch.Config) {
			c.Nodes, c.NodePath, c.Repeats = j.Nodes, j.Dir+"/nodes", 1000
			c.Timing = launch.Timing{Period: 50 * time.Millisecond, Lease: 30 * time.Second, Margin: 200 * time.Millisecond, Start: 30 * time.Second, Repair: -1}
		})
		if started {
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			return code
		}
	}
	if j.Spin {
		for range runtime.GOMAXPROCS(0) {
			go func() {
				for n := uint64(1); n != 0; n += 2 { // until this process ends: it calls nothing
				}
			}()
		}
	}
	fmt.Fprintln(os.Stderr, "listening")
	var err error
	switch {
	case j.Processes > 0:
		err = aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error { return j.run(ctx, z.Comm()) })
	case j.Goroutines > 0:
		err = aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error { return j.run(ctx, z.Comm()) }, aft.WithRanks(j.Goroutines))
	default:
		err = j.run(ctx, comm.Self())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return ExitCode(err)
}

func (j endingJob) run(ctx context.Context, c *comm.Comm) (err error) {
	state := endingState{Cells: make([]uint64, j.Cells)}
	opts := []Option{WithPath(j.Dir + "/home"), WithAsync(j.Mode), WithSync(SyncNone)}
	if j.Levels != "" {
		opts = append(opts, withLevels(j.Levels))
		if j.Processes == 0 {
			opts = append(opts, WithNodePath(fmt.Sprintf("%s/nodes/%d", j.Dir, int(c.Rank())%max(1, j.Nodes))))
		}
	}
	cp, err := New("ending", c, opts...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cp.Close()) }()
	if err := errors.Join(cp.Add("sum", &slow{&state.Sum, j.Save}), cp.Add("cells", &state.Cells), cp.Commit()); err != nil {
		return err
	}
	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return err
	}
	if c.Rank() == 0 {
		fmt.Fprintln(os.Stderr, "begins with iteration", iter)
	}
	for ; iter < j.Steps; iter++ {
		if j.Mode == AsyncZeroCopy {
			if err := cp.Wait(ctx); err != nil {
				return err
			}
		}
		if err := j.step(ctx, c, &state, iter); err != nil {
			return err
		}
		if err := cp.UpdateAndWrite(ctx, iter, j.Every); err != nil {
			return err
		}
	}
	if err := cp.Finish(ctx, j.Steps-1); err != nil {
		return err
	}
	return j.tell(ctx, c, state)
}

// step is one iteration.
func (j endingJob) step(ctx context.Context, c *comm.Comm, s *endingState, iter int) error {
	others := uint64(0)
	if j.Talk {
		var err error
		if others, err = comm.AllreduceOne(ctx, c, s.Sum, comm.Sum[uint64]); err != nil {
			return err
		}
	}
	takes := j.Step + j.Skew*time.Duration(c.Rank())
	if j.Grow > 0 && iter >= j.Steps/2 {
		takes *= time.Duration(j.Grow)
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.compute(int(c.Rank()), iter, others)
	return nil
}

// tell prints the digest.
func (j endingJob) tell(ctx context.Context, c *comm.Comm, s endingState) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	all, err := comm.AllgatherBytes(ctx, c, data)
	if err != nil {
		return err
	}
	states := make([]endingState, len(all))
	for r := range all {
		if err := json.Unmarshal(all[r], &states[r]); err != nil {
			return err
		}
	}
	if c.Rank() == 0 {
		fmt.Println("digest", digestOf(states))
	}
	return nil
}
