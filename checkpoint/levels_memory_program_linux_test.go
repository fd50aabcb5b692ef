package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/placement"
)

// jobScenario makes the test binary a process of a job that levels_memory_process_linux_test.go starts.
const jobScenario = "process of a job"

// memoryJob is what each process of a job does: it iterates, with its versions in memory, until it is
// told to end.
type memoryJob struct {
	Dir    string // where the processes and the test tell each other what they know
	Levels string
	Mode   string
	Copies int
	Delta  bool
	Still  bool // hardly any value changes
	Local  bool // there is a value that is not distributed anew
	Inner  int  // iterations of the loop inside; 0: there is one loop
	Cells  int
	Deaths []memoryDeath
	Stuck  []memoryDeath // processes that do nothing for a while from an iteration of an epoch on

	StuckFor time.Duration
}

// memoryDeath is that of a process at a message, a collective or an operation in its memory, counted in
// each epoch from its beginning on: also while it recovers.
type memoryDeath struct {
	Original comm.OriginalRank
	Epoch    int
	Event    int64
	Node     bool // with its node, if that is not the first one
}

func (j *memoryJob) file(name string, of ...any) string {
	return filepath.Join(j.Dir, name+"-"+fmt.Sprint(of...))
}

// say writes a file that is there in full, or not at all, whoever else writes it.
func (j *memoryJob) say(file string, numbers ...any) error {
	own := j.file("own", os.Getpid())
	if err := os.WriteFile(own, fmt.Append(nil, numbers...), 0o600); err != nil {
		return err
	}
	return os.Rename(own, file)
}

func (j *memoryJob) die(z *aft.Zone, event int64) {
	for i, d := range j.Deaths {
		if d.Original != z.Original() || d.Epoch != z.Epoch() || d.Event != event {
			continue
		}
		f, err := os.OpenFile(j.file("death", i), os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			continue
		}
		_ = f.Close()
		if d.Node && z.Node() > 0 {
			_ = syscall.Kill(os.Getppid(), syscall.SIGKILL)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// stick does nothing for a while if that is asked of this process: its body is in the way of a roll-back, if there is one.
func (j *memoryJob) stick(z *aft.Zone, step int64) error {
	for i, s := range j.Stuck {
		if s.Original == z.Original() && s.Epoch == z.Epoch() && s.Event <= step {
			if err := j.say(j.file("stuck", i), os.Getpid()); err != nil {
				return err
			}
			time.Sleep(j.StuckFor)
		}
	}
	return nil
}

// runMemoryJob is a process.
func runMemoryJob(arg string) error {
	var j memoryJob
	if err := json.Unmarshal([]byte(arg), &j); err != nil {
		return err
	}
	return aft.Run(context.Background(), j.body, aft.WithLogger(slog.New(slog.DiscardHandler)))
}

// memoryRank is a process in one attempt. The loop outside, if there is one, has the checkpoint outer and the
// partitioned values w, from which the one inside begins.
type memoryRank struct {
	*program
	job       *memoryJob
	z         *aft.Zone
	outer     *Checkpoint
	w         []float64
	i         int
	nodes     int // that the ranks are on
	since     int // the epoch since which the version outside, without which none inside is of use, has all its copies
	done      int // iterations in this attempt
	waits     int // iterations since this attempt has waited for copies that are made again
	unsettled map[*Checkpoint]reached
}

// reached is a version that is under way.
type reached struct {
	steps int // of the whole program; 0: there is none
	inMem bool
}

func (j *memoryJob) newRank(c *comm.Comm) *memoryRank {
	p := &memoryRank{program: newValues(c, j.Cells), job: j, unsettled: make(map[*Checkpoint]reached)}
	p.still = j.Still
	p.w = slices.Clone(p.v)
	return p
}

func (p *memoryRank) beginStage() {
	copy(p.v, p.w)
	p.sums, p.mine, p.iter = nil, 7, 0
}

func (p *memoryRank) endStage() {
	for k := range p.w {
		p.w[k] = p.w[k]/2 + p.v[k]
	}
	p.i++
}

// steps are those of the whole program that have been done.
func (p *memoryRank) steps() int { return p.i*p.job.Inner + p.iter }

func (j *memoryJob) body(ctx context.Context, z *aft.Zone) (err error) {
	p := j.newRank(z.Comm())
	p.z = z
	if err := j.noteFailures(z); err != nil {
		return err
	}
	var events atomic.Int64
	event := func() { j.die(z, events.Add(1)) }
	defer z.Comm().Session().Observe(&comm.Observer{
		Message:    func(comm.Message) { event() },
		Collective: func(comm.Collective) func(error) { event(); return nil },
	})()
	all := make([]int, p.c.Size())
	if err := comm.Allgather(ctx, p.c, []int{z.Node()}, all); err != nil {
		return err
	}
	p.nodes = len(slices.Compact(slices.Sorted(slices.Values(all))))
	for _, name := range []string{"inner", "outer"} {
		if name == "outer" && j.Inner == 0 {
			break
		}
		options := []Option{
			WithPath(filepath.Join(j.Dir, "pfs")), WithSync(SyncNone), withLevels(j.Levels), inMode(j.Mode),
			WithLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))),
			func(o *options) {
				o.MemCopies, o.Delta = j.Copies, j.Delta
				o.beforeMemory = func(string, storage.ObjectKey) error { event(); return nil }
			},
		}
		cp, err := New(name, p.c, options...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, cp.Close()) }()
		if name == "outer" {
			p.outer = cp
			err = errors.Join(cp.Add("w", cptypes.Partitioned(&p.w, p.lo, p.hi, p.n)), cp.Commit(), cp.SubCP(p.cp))
		} else {
			p.cp = cp
			err = errors.Join(p.add(j.Local), cp.Commit())
		}
		if err != nil {
			return err
		}
	}
	return p.run(ctx)
}

// run ends when the test says so, or when all has been lost that could be lost.
func (p *memoryRank) run(ctx context.Context) error {
	err := p.loops(ctx)
	if !errors.Is(err, ErrNoUsableVersion) {
		return err
	}
	if t, survives, problem := p.survives(); survives || problem != nil {
		return errors.Join(fmt.Errorf("%+v was complete: %w", t, err), problem)
	}
	return p.job.say(p.job.file("gone", p.z.Epoch()))
}

func (p *memoryRank) loops(ctx context.Context) error {
	if p.outer != nil {
		if err := p.outer.RestartIfNeeded(ctx, &p.i); err != nil {
			return err
		}
	}
	for first := true; ; first = false {
		p.beginStage()
		if err := p.cp.RestartIfNeeded(ctx, &p.iter); err != nil {
			return err
		}
		if first {
			if err := p.checkRestart(); err != nil {
				return err
			}
		}
		if over, err := p.stage(ctx); err != nil || over {
			return errors.Join(err, p.end(ctx, over))
		}
		for _, cp := range []*Checkpoint{p.cp, p.outer} { // what both hold changes now
			if err := p.ready(ctx, cp); err != nil {
				return err
			}
		}
		p.endStage()
		p.iter = 0
		if err := p.write(ctx, p.outer, p.i-1); err != nil {
			return err
		}
	}
}

// stage is the loop inside, until it ends or the test has told any process that all is over.
func (p *memoryRank) stage(ctx context.Context) (over bool, err error) {
	for p.job.Inner == 0 || p.iter < p.job.Inner {
		flags := p.copiesAreBack()
		if _, err := os.Stat(p.job.file("end")); err == nil {
			flags |= isOver
		}
		all, err := comm.AllreduceOne(ctx, p.c, flags, comm.BitOr[int])
		if err != nil || all&isOver > 0 {
			return err == nil, err
		}
		if all&areBack > 0 {
			p.since = p.z.Epoch()
		}
		if err := p.noteFlushed(); err != nil {
			return false, err
		}
		if err := p.ready(ctx, p.cp); err != nil {
			return false, err
		}
		if err := p.job.stick(p.z, int64(p.done)); err != nil {
			return false, err
		}
		p.step()
		p.iter++
		p.done++
		if err := p.write(ctx, p.cp, p.iter-1); err != nil {
			return false, err
		}
	}
	return false, nil
}

// What a process knows before an iteration.
const (
	isOver  = 1 << iota
	areBack // the copies of the version outside
)

// copiesAreBack waits, in every other attempt, for the copies of the version outside that are made again, and says on rank
// 0 that all ranks have done so.
func (p *memoryRank) copiesAreBack() (flag int) {
	if p.outer == nil || p.z.Epoch()%2 == 0 {
		return 0
	}
	p.waits++
	switch at := p.outer.line.attempt.origin; {
	case p.waits == 1:
		p.outer.placement.Healed()
	case p.waits == 2 && p.c.Rank() == 0 && !at.IsZero() && p.outer.placement.Reached(at).On(storage.TierMemory) != 0:
		flag = areBack
	}
	return flag
}

// ready waits until values may change.
func (p *memoryRank) ready(ctx context.Context, cp *Checkpoint) error {
	if p.job.Mode != "zero-copy" {
		return nil
	}
	if err := cp.Wait(ctx); err != nil {
		return err
	}
	return p.settle(cp)
}

func (p *memoryRank) write(ctx context.Context, cp *Checkpoint, iter int) error {
	if err := cp.UpdateAndWrite(ctx, iter, 1); err != nil {
		return err
	}
	if p.job.Mode == "copy" { // the one before is complete
		if err := p.settle(cp); err != nil {
			return err
		}
	}
	policy, err := storage.ParsePolicy(p.job.Levels)
	p.unsettled[cp] = reached{p.steps(), policy.Plan(cp.line.attempt.last).Where(func(l storage.Level) bool { return l.Tier == storage.TierMemory }) != 0}
	if err == nil && p.job.Mode == "off" {
		err = p.settle(cp)
	}
	return err
}

// settle notes that the last version is complete.
func (p *memoryRank) settle(cp *Checkpoint) error {
	at := p.unsettled[cp]
	delete(p.unsettled, cp)
	if !at.inMem {
		return nil
	}
	if cp == p.outer || p.outer == nil {
		p.since = p.z.Epoch()
	}
	return p.job.say(p.job.file("told", os.Getpid()), p.z.Epoch(), at.steps, p.nodes, p.c.Size(), p.since)
}

// end compares with a program that was never disturbed, and looks at the memory in use.
func (p *memoryRank) end(ctx context.Context, over bool) error {
	if !over {
		return nil
	}
	for _, cp := range []*Checkpoint{p.cp, p.outer} {
		if cp != nil {
			if err := cp.Wait(ctx); err != nil {
				return err
			}
		}
	}
	q := p.job.newRank(p.c)
	for q.beginStage(); q.i < p.i; q.beginStage() {
		for ; q.iter < p.job.Inner; q.iter++ {
			q.step()
		}
		q.endStage()
	}
	for ; q.iter < p.iter; q.iter++ {
		q.step()
	}
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	if !slices.EqualFunc(p.v, q.v, same) || !slices.EqualFunc(p.sums, q.sums, same) || !slices.EqualFunc(p.w, q.w, same) ||
		p.iter != q.iter || p.i != q.i || p.job.Local && p.mine != q.mine {
		return fmt.Errorf("rank %d has another result after %d steps", p.c.Rank(), p.steps())
	}
	return p.checkMemory()
}

func (p *memoryRank) checkMemory() error {
	used, most := placement.Memory(p.cp.placement)
	return p.job.say(p.job.file("memory", p.c.Rank()), used, most)
}
