package checkpoint

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/storagetest"
)

// tally counts the losses of a test.
type tally struct{ losses, rounds int }

func (y *tally) add(losses int) {
	y.losses += losses
	y.rounds++
}

// report prints the tally and makes sure that the test is about something.
func (y *tally) report(t *testing.T, least int) {
	t.Logf("%d losses in %d rounds", y.losses, y.rounds)
	if !t.Failed() {
		require.GreaterOrEqual(t, y.losses, least)
	}
}

// walk tries a loss at every stride-th operation, from the first one on, until
// the write has fewer.
func (y *tally) walk(t *testing.T, first, stride int, round func(k int) *world) {
	for k := first; ; k += stride {
		losses := round(k).survives(t)
		y.add(losses)
		if losses == 0 {
			return
		}
	}
}

// How far apart the operations are that one pass of a walk tries. All passes
// together try each.
const (
	steps     = 79 // with a single node
	pairSteps = 117
)

// walked is a way in which nodes are lost, at one operation on their files after
// the other while versions are written.
type walked struct {
	levels, mode  string
	inPlace       bool // of a single node; pairs take both in turn
	first, second int  // nodes
	shift         int  // of the operations, so that not all ways try the same ones
}

// ofNodes are the ways to lose a single node.
func ofNodes() (all []walked) {
	for _, level := range storagetest.Surviving() {
		for _, mode := range modes {
			for _, inPlace := range []bool{false, true} {
				for node := range disasterNodes {
					all = append(all, walked{levels: level.String(), mode: mode, inPlace: inPlace, first: node, shift: 7 * (len(all) + 1)})
				}
			}
		}
	}
	return all
}

// ofPairs are the ways to lose two nodes.
func ofPairs() (all []walked) {
	for _, level := range storagetest.Surviving() {
		for _, mode := range modes {
			for first := range disasterNodes {
				for second := range disasterNodes {
					if first != second && level.Covers(lossOfTwo) {
						all = append(all, walked{levels: level.String(), mode: mode, first: first, second: second, shift: 7 * (len(all) + 1)})
					}
				}
			}
		}
	}
	return all
}

// node loses the node before every stride-th operation.
func (y *tally) node(t *testing.T, v walked, pass int) {
	y.walk(t, 1+(pass+v.shift)%steps, steps, func(k int) *world {
		return newWorld(v.levels, v.mode, v.inPlace, loss{node: v.first, after: k})
	})
}

// pair loses both nodes at once, and then the second one at some operation of the
// recovery.
func (y *tally) pair(t *testing.T, v walked, pass int) {
	shift := pass + v.shift
	inPlace := shift%2 == 0
	y.walk(t, 1+shift%pairSteps, pairSteps, func(k int) *world {
		return newWorld(v.levels, v.mode, inPlace, loss{node: v.first, after: k}, loss{node: v.second})
	})
	for later := 1 + shift%pairSteps; later < 150; later += pairSteps {
		w := newWorld(v.levels, v.mode, !inPlace, loss{node: v.first, after: 1 + (shift+later)%90}, loss{node: v.second, after: later})
		w.wide = true
		y.add(w.survives(t))
	}
}

// passes goes all the ways, pass after pass, until all are done or the time is up.
func passes(t *testing.T, number int, until time.Time, ways []walked, walk func(t *testing.T, v walked, pass int)) {
	for pass := range number {
		for _, v := range ways {
			if time.Now().After(until) {
				return
			}
			walk(t, v, pass)
		}
	}
}

func TestLossOfEveryNodeAtEveryStage(t *testing.T) {
	var y tally
	for _, v := range sample(t, ofNodes(), orUnderRace(6, 3)) {
		y.node(t, v, 0)
	}
	y.report(t, 10/underRace())
}

func TestLossOfEveryPairAtEveryStage(t *testing.T) {
	var y tally
	for _, v := range sample(t, ofPairs(), orUnderRace(6, 3)) {
		y.pair(t, v, 0)
	}
	y.report(t, 10/underRace())
}

// What has been lost is made anew: when that has been told, another node may be
// lost.
func TestSecondLossAfterHealing(t *testing.T) {
	var pairs []walked
	for _, level := range storagetest.Protecting() {
		for first := range disasterNodes {
			for second := range disasterNodes {
				pairs = append(pairs, walked{levels: level.String(), mode: modes[(first+second)%len(modes)], first: first, second: second})
			}
		}
	}
	for _, v := range sample(t, pairs, 6) {
		w := newWorld(v.levels, v.mode, false)
		w.end = 4
		_, err := w.run(t)
		require.NoError(t, err, "%s", w)
		w.drop(v.first)
		w.final = func(*disasterProgram) error { return w.healed() }
		require.NoError(t, w.job(t.Context()), "%s", w)
		w.drop(v.second)
		w.final, w.end = nil, 6
		require.NoError(t, w.job(t.Context()), "%s", w)
		require.Equal(t, int64(3), w.restart)
		require.Empty(t, w.touched)
	}
}

// healed waits until all ranks have said that redundancy is back.
func (w *world) healed() error {
	if err := eventually(func() bool { return strings.Count(w.log.String(), "redundancy is back") == disasterRanks }); err != nil {
		return fmt.Errorf("no redundancy: %w", err)
	}
	return nil
}

// More is lost than the levels allow: what has been flushed is used, and what
// was lost is said. Without it nothing begins from zero.
func TestLossBeyondTheLevels(t *testing.T) {
	cases := allBeyond()
	chosen := sample(t, cases, orUnderRace(2, 1))
	var all, survived, older, none tally
	for _, c := range chosen {
		w, n, err := c.run(t)
		all.add(n)
		switch {
		case n == 0:
			require.NoError(t, err, "%s", w)
		case err != nil:
			require.ErrorContains(t, err, ErrNoUsableVersion.Error(), "%s", w) // a zone tells the text
			require.Regexp(t, `parts of ranks [0-9, ]+ are nowhere|on none of the nodes`, err.Error())
			require.Equal(t, int64(-1), w.flushed, "%s", w)
			none.add(n)
		case w.restart < w.safe:
			require.Regexp(t, `(newest version is not used|cannot be restored).*(parts of ranks [0-9, ]+( of 8)? are nowhere|on none of the nodes)`, w.log.String(), "%s", w)
			older.add(n)
		default:
			survived.add(n)
		}
	}
	t.Logf("survived %d, older version %d, none %d", survived.rounds, older.rounds, none.rounds)
	all.report(t, 20/underRace())
	require.NotZero(t, survived.rounds)
	if len(chosen) == len(cases) { // of few there may be none
		require.NotZero(t, none.rounds)
		require.NotZero(t, older.rounds)
	}
}

// beyond is a loss of more nodes than the levels allow, before an operation on the
// files of the first one.
type beyond struct {
	levels, mode string
	lost         []int
	after        int
}

func allBeyond() (all []beyond) {
	for _, c := range []beyond{
		{levels: "local", lost: []int{1}}, {levels: "local,pfs:2", lost: []int{0}}, {levels: "partner", lost: []int{0, 1}},
		{levels: "partner,pfs:2", lost: []int{1, 2}}, {levels: "partner,pfs:2", lost: []int{0, 2}}, {levels: "partner,pfs:3", lost: []int{2, 3}},
		{levels: "partner,pfs:2", lost: []int{3, 0}}, {levels: "xor", lost: []int{1, 3}}, {levels: "xor,pfs:2", lost: []int{0, 1}},
		{levels: "rs", lost: []int{0, 1, 3}}, {levels: "rs,pfs:3", lost: []int{1, 2, 3}}, {levels: "rs,pfs:2", lost: []int{0, 1, 2, 3}},
	} {
		for i, mode := range modes {
			for k := 5 + 3*i; k < 100; k += 31 {
				c.mode, c.after = mode, k
				all = append(all, c)
			}
		}
	}
	return all
}

func (c beyond) run(t *testing.T) (w *world, n int, err error) {
	together := []loss{{node: c.lost[0], after: c.after}}
	for _, node := range c.lost[1:] {
		together = append(together, loss{node: node})
	}
	w = newWorld(c.levels, c.mode, len(c.lost) < disasterNodes && c.after%2 == 0, together...)
	w.beyond = true
	w.armAt = 1 + c.after%3
	n, err = w.run(t)
	return w, n, err
}

// As soon as a first version is there, a restart that finds nothing of it knows
// that there was one.
func TestFirstVersionIsNoted(t *testing.T) {
	for _, mode := range modes {
		w := newWorld("local", mode, false)
		w.end = 1
		w.final = func(p *disasterProgram) error {
			if p.c.Rank() == 0 && p.cp.placement.Manifest().State().Newest == nil {
				return fmt.Errorf("mode %s: nobody knows of version 1", mode)
			}
			return nil
		}
		w.survives(t)
		w.final = nil
		w.drop(0, 1, 2, 3)
		w.beyond = true
		require.ErrorIs(t, w.job(t.Context()), ErrNoUsableVersion)
	}
}

// The disk of a node fails for what it keeps for others: versions that are less
// safe never drive out the last one that is safe.
func TestLastSafeVersionStays(t *testing.T) {
	var ways []walked
	policies := []string{"local,partner:2"}
	for _, level := range storagetest.Protecting() {
		policies = append(policies, level.String())
	}
	for _, levels := range policies {
		for _, mode := range modes {
			for lost := range disasterNodes {
				ways = append(ways, walked{levels: levels, mode: mode, first: lost})
			}
		}
	}
	for _, v := range sample(t, ways, 3) {
		w := newWorld(v.levels, v.mode, false, loss{node: -1})
		w.options = []Option{WithKeep(1)}
		broken := (v.first + 1) % disasterNodes
		// The last two versions may be lost, the one before may not.
		w.onArm = func() {
			w.breaks(func(node int, op vfs.Op) error {
				if node == broken && (strings.Contains(op.Path, ".copy-") || strings.Contains(op.Path, ".parity-")) {
					return syscall.EIO
				}
				return nil
			})
		}
		_, err := w.run(t)
		require.NoError(t, err, "%s", w)
		require.Contains(t, w.log.String(), "not protected as planned", "%s", w)
		w.breaks(nil)
		w.drop(v.first)
		w.beyond = true
		require.NoError(t, w.job(t.Context()), "%s", w)
		require.GreaterOrEqual(t, w.restart, int64(w.armAt-2), "%s", w)
	}
}

// All stages of a write, as far as the time allows, and then random levels, modes
// and losses, one after the other.
func TestLevelsDisasters(t *testing.T) {
	rng := testseed.Rand(t)
	began := time.Now()
	seconds := testSeconds().Sub(began)
	var all tally
	passes(t, steps, began.Add(seconds/3), ofNodes(), all.node)
	passes(t, pairSteps, began.Add(seconds*2/3), ofPairs(), all.pair)
	// A few rounds of a slow machine may be over before anything is lost.
	for all.rounds < 5 || all.losses < 5 && all.rounds < 500 || time.Since(began) < max(seconds, 2*time.Second) {
		all.add(disaster(t, rng))
	}
	all.report(t, 5)
}

// What a level has to survive: one node, two.
var (
	lossOfOne = storage.Level{Survives: storage.Losses{Process: true, Nodes: 1}}
	lossOfTwo = storage.Level{Survives: storage.Losses{Process: true, Nodes: 2}}
)

func disaster(t *testing.T, rng *rand.Rand) int {
	one := []string{"partner:2,xor:3", "local,xor:2,partner:3", "partner,pfs:2", "local,xor:2,pfs:3"}
	two := []string{"partner,rs:2", "local,xor:2,rs:3", "rs,pfs:2"}
	for _, l := range storagetest.Surviving() {
		one = append(one, l.String(), fmt.Sprintf("local,%v:2", l))
		if l.Covers(lossOfTwo) {
			two = append(two, l.String(), fmt.Sprintf("local,%v:2", l))
		} else {
			two = append(two, fmt.Sprintf("local,%v:2,rs:3", l))
		}
	}
	var losses []loss
	levels, least := one[rng.IntN(len(one))], lossOfOne
	pairs := rng.IntN(2) == 0
	if pairs {
		levels, least = two[rng.IntN(len(two))], lossOfTwo
	}
	for range 1 + rng.IntN(2) {
		losses = append(losses, loss{node: rng.IntN(disasterNodes), after: 1 + rng.IntN(250), later: true})
		if pairs && rng.IntN(3) > 0 {
			losses = append(losses, loss{node: rng.IntN(disasterNodes), after: rng.IntN(150)})
			if losses[len(losses)-1].node == losses[len(losses)-2].node {
				losses[len(losses)-1].after++ // its new life
			}
		}
	}
	w := newWorld(levels, modes[rng.IntN(len(modes))], rng.IntN(2) == 0, losses...)
	w.least, w.wide, w.armAt, w.end = least, true, 1+rng.IntN(4), 9
	if rng.IntN(2) == 0 {
		w.options = append(w.options, WithDelta(2+rng.IntN(4)))
	}
	w.options = append(w.options, WithKeep(1+rng.IntN(2)))
	n, err := w.run(t)
	require.NoError(t, err, "%s", w)
	if !strings.Contains(levels, "pfs") {
		require.Empty(t, w.touched, "%s", w)
	}
	return n
}
