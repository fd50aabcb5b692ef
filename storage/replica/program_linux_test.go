package replica_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/storage/replica"
)

// The test binary is the program of the jobs that processes_linux_test.go starts.
func TestMain(m *testing.M) {
	testprogram.Main(m, func() {
		var p program
		err := json.Unmarshal([]byte(os.Args[1]), &p)
		for zone := 0; zone < p.Zones && err == nil; zone++ {
			err = p.zone(zone)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "process %d: %v\n", os.Getpid(), err)
			os.Exit(1)
		}
		os.Exit(0)
	})
}

// program submits version after version to stores and loads them, until it is told to end. It is
// what each process of a job does.
type program struct {
	Dir     string // where the processes and the test tell each other what they know
	Zones   int
	Stores  int
	N       int64
	Size    int
	By      int
	Options replica.Options
	// Rebalance has every other version made by Rebalance, Queue operations started without waiting,
	// OwnRepair failures repaired within the body, NoContext operations that no context ends.
	// Vary gives versions different numbers of blocks, so that memory is given back, Reopen opens stores again
	// while something is under way.
	Rebalance, Queue, OwnRepair, NoContext, Vary, Reopen bool
	Deaths                                               []death
}

// death is that of a process at a message or collective of its own, counted from its first attempt on. It is a
// moment that others seldom hit.
type death struct {
	Original comm.OriginalRank
	Event    int64
	Node     bool // with its node, if that is not the first one
}

// deathFile says that a death has happened: there is one of each.
func deathFile(dir string, i int) string { return filepath.Join(dir, fmt.Sprint("death-", i)) }

// die ends the process at its moment.
func (p *program) die(z *aft.Zone, event int64) {
	for i, d := range p.Deaths {
		if d.Original != z.Original() || d.Event != event {
			continue
		}
		f, err := os.OpenFile(deathFile(p.Dir, i), os.O_CREATE|os.O_EXCL, 0o600)
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

var events atomic.Int64

func (p *program) shape(version uint64) shape {
	sh := shape{n: p.N, size: p.Size, by: p.By}
	if p.Vary {
		sh.n = max(sh.n*int64(1+version*5%7)/7, 1)
	}
	return sh
}

// endFile tells a zone to end. lossFile says what was lost.
func endFile(dir string, zone int) string { return filepath.Join(dir, fmt.Sprint("end-", zone)) }
func lossFile(dir string) string          { return filepath.Join(dir, "loss") }

func (p *program) zone(number int) error {
	return aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		defer z.Comm().Session().Observe(&comm.Observer{
			Message:    func(comm.Message) { p.die(z, events.Add(1)) },
			Collective: func(comm.Collective) func(error) { p.die(z, events.Add(1)); return nil },
		})()
		for {
			err := p.attempt(ctx, z, number)
			if err == nil || !p.OwnRepair || !failure(err) && ctx.Err() == nil {
				return err
			}
			if _, err := z.Repair(ctx); err != nil {
				return err
			}
			ctx = z.Context()
		}
	}, aft.WithLogger(quiet))
}

func failure(err error) bool {
	for _, one := range []error{comm.ErrProcFailed, comm.ErrRevoked, aft.ErrRecovering, replica.ErrUnbound} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// storeOf is one of the program's stores, which are used at the same time.
type storeOf struct {
	*replica.Store
	p      *program
	z      *aft.Zone
	comm   *comm.Comm
	zone   int
	name   string
	number int
}

func (p *program) attempt(ctx context.Context, z *aft.Zone, zone int) error {
	if err := p.noteFailures(z); err != nil {
		return err
	}
	errs := make([]error, p.Stores)
	var working sync.WaitGroup
	for i := range errs {
		c, err := z.Comm().Dup(ctx)
		if err != nil {
			errs[i] = err
			break
		}
		s := &storeOf{p: p, z: z, comm: c, zone: zone, number: i, name: fmt.Sprint("store-", i)}
		working.Go(func() {
			if errs[i] = s.work(ctx); errs[i] == nil {
				return
			}
			if !failure(errs[i]) && ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "process %d, %s, epoch %d: %v\n", os.Getpid(), s.name, z.Epoch(), errs[i])
			}
			_ = z.Comm().Revoke() // the other stores end, too
		})
	}
	working.Wait()
	return errors.Join(errs...)
}

// failuresFile says how many processes, and on how many nodes, have failed before an epoch and after the one before.
func failuresFile(dir string, epoch any) string {
	return filepath.Join(dir, fmt.Sprint("failures-", epoch))
}

func (p *program) noteFailures(z *aft.Zone) error {
	change, any := z.Change()
	if !any {
		return nil
	}
	nodes := make(map[int]bool)
	for _, lost := range change.Failed {
		nodes[lost.Node] = true
	}
	file, own := failuresFile(p.Dir, change.Epoch), filepath.Join(p.Dir, fmt.Sprint("own-", os.Getpid())) // each may die
	if err := os.WriteFile(own, fmt.Append(nil, len(change.Failed), len(nodes)), 0o600); err != nil {
		return err
	}
	return os.Rename(own, file)
}

// work is what one attempt does with a store.
func (s *storeOf) work(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	scrubbed, stop := scrubAlways(ctx, s.Store)
	defer stop()
	for step := 0; ; step++ {
		over := 0
		if _, err := os.Stat(endFile(s.p.Dir, s.zone)); err == nil {
			over = 1
		}
		all, err := comm.AllreduceOne(ctx, s.comm, over, comm.Max[int])
		if err != nil {
			return err
		}
		if s.p.Reopen && step%5 == 4 {
			s.StartLoad(ctx, nil)
			if err := s.open(ctx); err != nil {
				return err
			}
		}
		if err := s.step(ctx, step); err != nil {
			return fmt.Errorf("%s in epoch %d, step %d: %w", s.name, s.z.Epoch(), step, err)
		}
		if all > 0 {
			stop()
			return <-scrubbed
		}
	}
}

// had are the newest versions that this process has seen, by store.
var had [2]uint64

// open checks that there is no older version than any process had been told.
func (s *storeOf) open(ctx context.Context) (err error) {
	o := s.p.Options
	o.Seed += uint64(s.number)
	o.Log = quiet
	o.NoDirect = o.NoDirect && s.comm.Rank()%2 == 1
	if s.Store, err = replica.Open(ctx, s.comm, s.name, o); err != nil {
		return err
	}
	if s.Version() == 0 {
		if err := s.forget(ctx); err != nil {
			return err
		}
	}
	told, err := s.told()
	if err != nil {
		return err
	}
	if v := s.Version(); v < told {
		return fmt.Errorf("%s: version %d is there after %d was", s.name, v, told)
	}
	return s.see()
}

// forget has numbers begin again where nobody is left who knew of a version: all have been replaced.
func (s *storeOf) forget(ctx context.Context) error {
	knew, err := comm.AllreduceOne(ctx, s.comm, had[s.number], comm.Max[uint64])
	if err != nil || knew > 0 {
		return err
	}
	if s.comm.Rank() == 0 {
		files, err := filepath.Glob(filepath.Join(s.p.Dir, fmt.Sprint("told-", s.name, "-*")))
		for _, name := range files {
			err = errors.Join(err, os.Remove(name), os.WriteFile(forgottenFile(s.p.Dir), nil, 0o600))
		}
		if err != nil {
			return err
		}
	}
	return comm.Barrier(ctx, s.comm)
}

// forgottenFile says that nobody was left who knew of a version.
func forgottenFile(dir string) string { return filepath.Join(dir, "forgotten") }

// see notes what this process knows of.
func (s *storeOf) see() error {
	if had[s.number] = max(had[s.number], s.Version()); had[s.number] == 0 {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(s.p.Dir, fmt.Sprint("told-", s.name, "-", os.Getpid())), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.BigEndian.AppendUint64(nil, had[s.number]), 0)
	return errors.Join(err, f.Close())
}

// told is the newest version that any process has seen.
func (s *storeOf) told() (newest uint64, err error) {
	files, err := filepath.Glob(filepath.Join(s.p.Dir, fmt.Sprint("told-", s.name, "-*")))
	if err != nil {
		return 0, err
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) { // forgotten
			return 0, err
		}
		if len(b) == 8 { // else it was killed before it had written
			newest = max(newest, binary.BigEndian.Uint64(b))
		}
	}
	return newest, nil
}

// step is one operation that changes the store, with loads after it; the first one of an attempt is Repair.
func (s *storeOf) step(ctx context.Context, step int) error {
	if s.p.NoContext {
		ctx = context.Background()
	}
	switch version := s.Version(); {
	case step == 0 && version == 0:
	case step == 0:
		if err := s.verify(ctx, step); err != nil { // also what is not repaired
			return err
		}
		if err := s.Repair(ctx); err != nil {
			return fmt.Errorf("repair: %w", err)
		}
		if st := s.Stats(); st.Missing > 0 && st.Lost == nil && s.comm.Size() >= st.Copies {
			return fmt.Errorf("%d copies are missing after Repair", st.Missing)
		}
	case s.p.Rebalance && version%2 == 1:
		if err := s.Rebalance(ctx); err != nil && !errors.Is(err, replica.ErrLost) {
			return fmt.Errorf("rebalance: %w", err)
		} else if err == nil {
			break
		}
		fallthrough
	default:
		if err := s.submit(ctx); err != nil {
			return fmt.Errorf("submit: %w", err)
		}
	}
	if err := s.see(); err != nil {
		return err
	}
	return s.verify(ctx, step)
}

func (s *storeOf) submit(ctx context.Context) error {
	c := s.comm
	b := func(version uint64) replica.Blocks {
		return s.p.shape(version).blocks(s.key(version), c.Size(), int(c.Rank()))
	}
	version := s.Version() + 1
	first := s.StartSubmit(ctx, b(version))
	if !s.p.Queue {
		return first.Wait(ctx)
	}
	second := s.StartSubmit(ctx, b(version+1))
	load := s.StartLoad(ctx, nil, replica.Range{Lo: 0, Hi: 1})
	_, err := load.Wait(ctx)
	if errors.Is(err, replica.ErrLost) {
		err = nil
	}
	return errors.Join(first.Wait(ctx), second.Wait(ctx), err)
}

// epochs are how many of them a key of contents tells apart.
const epochs = 32

// key is what the contents of a version follow from: another attempt to submit it has another.
func (s *storeOf) key(version uint64) int { return int(version)*epochs + s.z.Epoch()%epochs }

// verify loads everything, each rank a share, and finds out whether all of it was submitted together.
func (s *storeOf) verify(ctx context.Context, step int) error {
	if s.Version() == 0 {
		return nil
	}
	c := s.comm
	if mapped, open := segments(); mapped > 2*s.p.Stores*(c.Size()+1) || open > (2*c.Size()+3)*s.p.Stores {
		return fmt.Errorf("%d mappings and %d descriptors of shared memory with %d ranks", mapped, open, c.Size())
	}
	lists := make([][]replica.Range, c.Size())
	for r := range lists {
		lists[r] = []replica.Range{replica.Even(s.Blocks(), c.Size(), (r+1)%c.Size())}
	}
	mine := lists[c.Rank()]
	load := func() (replica.Loaded, error) { return s.Load(ctx, nil, mine...) }
	if step%2 == 1 {
		load = func() (replica.Loaded, error) { return s.LoadAll(ctx, nil, lists) }
	}
	got, err := load()
	if err != nil && !errors.Is(err, replica.ErrLost) {
		return fmt.Errorf("load: %w", err)
	}
	if err := s.noteLoss(); err != nil {
		return err
	}
	possible, unlike := s.possible(got, mine)
	all, err := comm.AllreduceOne(ctx, c, possible, comm.BitAnd[uint64])
	if err != nil {
		return err
	}
	if bits.OnesCount64(all) == 0 {
		return fmt.Errorf("version %d is not one that was submitted; here are %b: %w", s.Version(), possible, unlike)
	}
	return nil
}

func (s *storeOf) noteLoss() error {
	lost := s.Lost()
	if lost == nil {
		return nil
	}
	return os.WriteFile(lossFile(s.p.Dir), fmt.Appendf(nil, "%s: version %d in epoch %d: %v\n", s.name, s.Version(), s.z.Epoch(), lost), 0o600)
}

// possible are the contents that a rank's share may be of, a bit for each.
func (s *storeOf) possible(got replica.Loaded, mine []replica.Range) (keys uint64, unlike error) {
	lost := s.Lost()
	for back := range 2 {
		if back == 1 && !s.p.Rebalance {
			break
		}
		for epoch := range min(s.z.Epoch()+1, epochs) {
			err := s.p.shape(0).check((int(s.Version())-back)*epochs+epoch, got, mine, lost)
			if err == nil {
				keys |= 1 << (back*epochs + epoch)
			} else if unlike == nil {
				unlike = err
			}
		}
	}
	return keys, unlike
}
