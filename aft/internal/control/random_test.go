package control

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/testseed"
)

// TestRandomFailures: ranks and nodes die and hang at any time, repairs included, with all policies that
// there are and one that begins at the detection; some ask for another one when they have come to the repair.
// CRAFT_TEST_SEED replays a round, CRAFT_TEST_SECONDS says how long it runs.
func TestRandomFailures(t *testing.T) {
	repairs := 0
	rounds := randomRounds(t, func(seed uint64) { repairs += randomRound(t, seed) })
	if _, given := testseed.Given(t); given {
		return
	}
	for ; rounds < 1000 && repairs == 0; rounds++ { // a busy machine does few in the time
		repairs += randomRound(t, rand.Uint64())
	}
	t.Logf("%d rounds with %d repairs", rounds, repairs)
	require.Positive(t, repairs)
}

// randomRounds does a round with the seed that is given, or rounds with others for a time, and
// returns how many.
func randomRounds(t *testing.T, round func(seed uint64)) (rounds int) {
	if seed, given := testseed.Given(t); given {
		round(seed)
		return 1
	}
	length := 2 * time.Second
	if text := os.Getenv("CRAFT_TEST_SECONDS"); text != "" {
		n, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		length = time.Duration(n * float64(time.Second))
	}
	for began := time.Now(); rounds == 0 || time.Since(began) < length; rounds++ {
		round(rand.Uint64())
	}
	return rounds
}

func randomRound(t *testing.T, seed uint64) (repairs int) {
	defer func() {
		if t.Failed() {
			testseed.Print(t, seed)
		}
	}()
	random := rand.New(rand.NewPCG(seed, 0))
	cfg := randomConfig(random, 8, 4)
	s := newSim(t, random, cfg)
	s.logf("%d ranks, %d nodes, %+v, local %v", cfg.Size, len(cfg.Nodes), cfg.Policy, cfg.Nodes[0].Local)
	for range random.IntN(8) {
		// Some at the start, most while it works, some in a repair.
		s.after(time.Duration(random.ExpFloat64()*float64(20*time.Millisecond)), "chaos", s.chaos)
	}
	s.run(5 * time.Minute)
	s.check()
	return s.root.rendezvous.epoch
}

// chaos makes one thing fail.
func (s *sim) chaos() {
	if s.over {
		return
	}
	if s.random.IntN(3) == 0 {
		s.chaosNode()
		return
	}
	var running []*simRank
	for p := range Proc(len(s.ranks)) {
		if r := s.ranks[p]; r != nil && !r.dead && !r.hung && !r.done {
			running = append(running, r)
		}
	}
	if len(running) == 0 {
		return
	}
	r := running[s.random.IntN(len(running))]
	if s.random.IntN(4) == 0 && r.world != nil { // before Hello nobody watches it
		s.logf("process %d hangs", r.proc)
		r.hung = true
	} else {
		r.die(Exit{Proc: r.proc, Code: -1, Signal: sigkill})
	}
	if s.random.IntN(2) == 0 { // the next one soon, in the repair
		s.after(time.Duration(s.random.IntN(int(20*time.Millisecond))), "chaos", s.chaos)
	}
}

// chaosNode: but the last node stays.
func (s *sim) chaosNode() {
	var running []*simNode
	for _, n := range s.nodes {
		if n.daemon != nil && !n.dead && !n.stopped && !n.cutUp && !n.cutDown {
			running = append(running, n)
		}
	}
	if len(running) < 2 || !s.root.deploy.launched {
		return
	}
	n := running[s.random.IntN(len(running))]
	switch s.random.IntN(4) {
	case 0, 1:
		s.killNode(n)
	case 2:
		s.logf("daemon %d hangs", n.id)
		n.stopped = true
	case 3:
		if s.cfg.Nodes[n.id].Local {
			s.killNode(n)
			return
		}
		n.cutUp, n.cutDown = true, true
		switch s.random.IntN(3) {
		case 0:
			n.cutUp = false
		case 1:
			n.cutDown = false
		}
		s.logf("node %d: cut up %v down %v", n.id, n.cutUp, n.cutDown)
	}
}

// check looks at how the job has ended.
func (s *sim) check() {
	world := s.root.rendezvous.groups.world
	switch {
	case s.over && !s.late:
		if s.end.Code != 0 || s.end.Report != "" {
			s.fatal("end %+v", *s.end)
		}
	case s.over: // a process was lost between the end of the zone and its own
		return
	case driver.RecoveryOf(s.cfg.Policy.Recovery).Aborts:
		if s.named == nil || *s.named == s.cfg.Policy {
			require.Contains(s.t, s.end.Report, "aborted")
		}
		require.NotNil(s.t, s.root.out.defeat)
		return
	case !s.replacesAll():
		require.Contains(s.t, s.end.Report, "no rank is left")
		return
	default:
		s.fatal("end %+v", *s.end)
	}
	s.checkSize(ids(world.members))
	last := -1
	for _, p := range world.members {
		o := int(p.original)
		if o <= last {
			s.fatal("the ranks of the last world are not in order")
		}
		last = o
	}
}

// checkSize: a policy that replaces all keeps the size of the world.
func (s *sim) checkSize(world []Proc) {
	if s.replacesAll() && len(world) != s.cfg.Size {
		s.fatal("%s has shrunk: %v", s.cfg.Policy.Recovery, world)
	}
}

// replacesAll reports whether the job's policy does, whichever ranks are lost.
func (s *sim) replacesAll() bool {
	for set := range 1 << s.cfg.Size {
		d := driver.Damage{Size: s.cfg.Size, Slots: s.cfg.Size} // nodes have any number of them
		for o := range s.cfg.Size {
			if set>>o&1 == 1 {
				d.Lost = append(d.Lost, o)
			}
		}
		if !slices.Equal(driver.RecoveryOf(s.cfg.Policy.Recovery).Replaced(d), d.Lost) {
			return false
		}
	}
	return true
}

// randomConfig is that of a job of some ranks and nodes.
func randomConfig(random *rand.Rand, ranks, hosts int) RootConfig {
	size := 1 + random.IntN(ranks)
	cfg := RootConfig{Size: size, Repeats: 1000}
	local := random.IntN(2) == 0
	nodes := 1 + random.IntN(hosts)
	for i := range nodes + random.IntN(3) {
		cfg.Nodes = append(cfg.Nodes, NodeConfig{Name: fmt.Sprint("n", i), Host: fmt.Sprint("h", i), Local: local, Spare: i >= nodes})
	}
	if random.IntN(2) == 0 {
		cfg.SpareRanks = random.IntN(4)
	}
	names := driver.RecoveryNames()
	cfg.Policy = driver.Policy{Recovery: names[random.IntN(len(names))], Spawn: driver.NoReuse}
	if random.IntN(2) == 0 {
		cfg.Policy.Spawn = driver.Reuse
	}
	return cfg
}
