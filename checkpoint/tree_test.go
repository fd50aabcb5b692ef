package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
)

// treeNode is a loop with its checkpoint and the loops in it, one after the other.
type treeNode struct {
	name    string
	n, freq int
	kids    []*treeNode
	anew    bool // made anew for each stage, and its kids with it

	cp    *Checkpoint
	state []int // replaced in each iteration, never changed
}

func (n *treeNode) clone() *treeNode {
	c := &treeNode{name: n.name, n: n.n, freq: n.freq, anew: n.anew}
	for _, k := range n.kids {
		c.kids = append(c.kids, k.clone())
	}
	return c
}

// treeRun is one life of a program.
type treeRun struct {
	c     *comm.Comm
	opts  func() []Option
	step  func() error // its error ends the life
	fails *atomic.Int64
	open  []*Checkpoint
}

// make makes the checkpoints that stay for all stages of parent.
func (r *treeRun) make(n, parent *treeNode) error {
	var err error
	if n.cp, err = New(n.name, r.c, r.opts()...); err != nil {
		return err
	}
	r.open = append(r.open, n.cp)
	if err := errors.Join(n.cp.Add("s", cptypes.Replicated(&n.state)), n.cp.Commit()); err != nil {
		return err
	}
	if parent != nil {
		if err := parent.cp.SubCP(n.cp); err != nil {
			return err
		}
	}
	for _, k := range n.kids {
		if !k.anew {
			if err := r.make(k, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeTree ends what was made anew for a stage.
func (r *treeRun) closeTree(n *treeNode) {
	for _, k := range n.kids {
		if k.cp != nil {
			r.closeTree(k)
		}
	}
	_ = n.cp.Close()
	n.cp = nil
}

// loop is one loop with all that are in it; without checkpoints it is the
// undisturbed program.
func (r *treeRun) loop(ctx context.Context, n *treeNode) error {
	i := 0
	if n.cp != nil {
		if err := n.cp.RestartIfNeeded(ctx, &i); err != nil {
			return err
		}
	}
	for ; i < n.n; i++ {
		for _, k := range n.kids {
			if n.cp != nil && k.anew {
				if err := r.make(k, n); err != nil {
					return err
				}
			}
			if err := r.loop(ctx, k); err != nil {
				return err
			}
			if n.cp != nil && k.anew {
				r.closeTree(k)
			}
		}
		x := i + 1
		for j, k := range n.kids {
			x += (j + 2) * k.state[0]
			k.state = []int{0, 0, 0}
		}
		n.state = []int{(n.state[0]*3 + x) % 1000003, i, x}
		if n.cp != nil {
			if err := n.cp.UpdateAndWrite(ctx, i, n.freq); err != nil {
				if ctx.Err() != nil || errors.Is(err, comm.ErrProcFailed) {
					return err
				}
				r.fails.Add(1)
			}
		}
		if r.step != nil {
			if err := r.step(); err != nil {
				return err
			}
		}
	}
	return nil
}

func initTree(n *treeNode) {
	n.state = []int{0, 0, 0}
	for _, k := range n.kids {
		initTree(k)
	}
}

// randomTree is a tree of three levels with siblings, and frequencies up to 3.
func randomTree(rng *rand.Rand) *treeNode {
	f := func() int { return 1 + rng.IntN(3) }
	anew := func() bool { return rng.IntN(3) == 0 }
	return &treeNode{name: "o", n: 3 + rng.IntN(2), freq: f(), kids: []*treeNode{
		{name: "m1", n: 3, freq: f(), anew: anew(), kids: []*treeNode{{name: "i1", n: 3, freq: f(), anew: anew()}, {name: "i2", n: 2, freq: f(), anew: anew()}}},
		{name: "m2", n: 3, freq: f(), anew: anew(), kids: []*treeNode{{name: "i3", n: 2, freq: 1, anew: anew()}}},
	}}
}

// Random trees of nested checkpoints, with siblings and checkpoints made anew for
// each stage, in random modes and on random numbers of ranks, with failing
// operations, damaged files and deaths: they end with the undisturbed result, or
// with the error that no version is usable, where files were damaged. It goes on
// until CRAFT_TEST_SECONDS are over; at least 40 programs.
func TestNestedTrees(t *testing.T) {
	rng := testseed.Rand(t)
	until := testSeconds()
	var o treeOutcome
	for ; o.programs < max(40/underRace(), 10) || time.Now().Before(until); o.programs++ {
		o.run(t, rng)
	}
	t.Logf("%d programs, %d deaths, %d failed calls, %d damaged files, %d ended with no usable version",
		o.programs, o.deaths, o.fails.Load(), o.damages, o.unusable)
	require.Greater(t, o.deaths, o.programs/2)
}

type treeOutcome struct {
	programs, deaths, damages, unusable int

	fails atomic.Int64
}

// run is one program, from its first life to its last.
func (o *treeOutcome) run(t *testing.T, rng *rand.Rand) {
	tree := randomTree(rng)
	want := tree.clone()
	initTree(want)
	require.NoError(t, (&treeRun{fails: &o.fails}).loop(t.Context(), want))
	disk := vfs.NewMem()
	usual, mayDamage, damages := 1+rng.IntN(2), rng.IntN(2) == 0, 0
	for life := 0; ; life++ {
		ranks := usual
		if rng.IntN(4) == 0 {
			ranks = 1 + rng.IntN(3)
		}
		state, image, err := o.life(t, tree, disk, ranks, 1+rng.IntN(60+20*life), rng)
		switch {
		case err == nil:
			require.Equal(t, want.state, state, "%+v, life %d", tree, life)
			return
		case errors.Is(err, ErrNoUsableVersion) && damages > 0:
			o.unusable++
			return
		}
		require.ErrorIs(t, err, errDead)
		o.deaths++
		if disk = image; mayDamage && rng.IntN(3) == 0 {
			damageOne(t, disk, rng)
			damages++
			o.damages++
		}
	}
}

// life runs the program from what is on a disk to its end, or to its death.
func (o *treeOutcome) life(t *testing.T, tree *treeNode, disk *vfs.Mem, ranks, death int, rng *rand.Rand) (state []int, image *vfs.Mem, err error) {
	var ops atomic.Int64
	noisy, every := rng.IntN(2) == 0, int64(20+rng.IntN(300))
	fsys := vfs.WithErrors(disk, func(op vfs.Op) error {
		if noisy && op.Kind.Mutates() && strings.Contains(op.Path, "/v-") && ops.Add(1)%every == 0 {
			return syscall.ENOSPC
		}
		return nil
	})
	keep, choice := []int{1, 2, 5}[rng.IntN(3)], rng.Uint64()
	var first sync.Once
	err = afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		same := rand.New(rand.NewPCG(choice, 7)) // on all ranks
		mine, steps := tree.clone(), 0
		initTree(mine)
		r := &treeRun{c: c, fails: &o.fails, opts: func() []Option {
			return []Option{WithPath("/cp"), withFS(fsys), inMode(modes[same.IntN(3)]), WithKeep(keep), WithLogger(slog.New(slog.DiscardHandler))}
		}, step: func() error {
			if steps++; steps < death {
				return nil
			}
			first.Do(func() { image = disk.Crash(1, rng) })
			return errDead
		}}
		defer func() {
			for i := len(r.open) - 1; i >= 0; i-- {
				_ = r.open[i].Close()
			}
		}()
		if err := r.make(mine, nil); err != nil {
			return err
		}
		if err := r.loop(ctx, mine); err != nil {
			return err
		}
		if c.Rank() == 0 {
			state = mine.state
		}
		return nil
	})
	return state, image, err
}

// damageOne flips a bit in one of the stored parts.
func damageOne(t *testing.T, mem *vfs.Mem, rng *rand.Rand) {
	var files []string
	tops, err := mem.ReadDir("/cp")
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	for _, d := range tops {
		vs, _ := mem.ReadDir(filepath.Join("/cp", d.Name()))
		for _, v := range vs {
			if !strings.HasPrefix(v.Name(), "v-") {
				continue
			}
			ps, _ := mem.ReadDir(filepath.Join("/cp", d.Name(), v.Name()))
			for _, p := range ps {
				files = append(files, filepath.Join("/cp", d.Name(), v.Name(), p.Name()))
			}
		}
	}
	if len(files) == 0 {
		return
	}
	name := files[rng.IntN(len(files))]
	data, err := vfs.ReadFile(mem, name, 1<<26)
	require.NoError(t, err)
	if len(data) == 0 {
		return
	}
	data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
	require.NoError(t, mem.Remove(name))
	f, err := mem.Create(name, 0o600)
	require.NoError(t, err)
	_, err = f.Write(data)
	require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
}
