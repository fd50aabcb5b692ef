package killtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/internal/testprocess"
)

// blow is one failure.
type blow struct {
	after  time.Duration // the one before
	who    string        // rank, newest: the rank that was started last; daemon: a node, a spare one as well
	stop   time.Duration // 0: it is killed. Else it is stopped for so long
	starts bool          // it comes when another rank is started, if one is
	pick   uint32        // which one of those that are there
}

func (b blow) String() string {
	text := fmt.Sprintf("%s after %v", b.who, b.after.Round(time.Microsecond))
	if b.starts {
		text += " and a start"
	}
	if b.stop > 0 {
		text += fmt.Sprintf(" stopped for %v", b.stop.Round(time.Millisecond))
	}
	return text
}

// newBlows are one to four, half of them shortly after another one. nodes of them are of nodes at most.
func newBlows(rng *rand.Rand, long time.Duration, nodes int, mayStop bool) []blow {
	blows := make([]blow, 1+rng.IntN(4))
	for i := range blows {
		span := long
		if i > 0 && rng.IntN(2) == 0 {
			span = oneOf(rng, 3*time.Millisecond, 30*time.Millisecond) // into the recovery
		}
		b := blow{after: time.Duration(rng.Int64N(int64(span))), who: oneOf(rng, "rank", "rank", "newest", "daemon"), pick: rng.Uint32()}
		b.starts = i > 0 && rng.IntN(3) == 0
		if b.who == "daemon" {
			if nodes == 0 {
				b.who = "rank"
			}
			nodes = max(0, nodes-1)
		}
		if mayStop && rng.IntN(2) == 0 {
			b.stop = time.Duration(rng.Int64N(int64(2*shortLease))) + time.Millisecond
		}
		blows[i] = b
	}
	return blows
}

// striker hits the processes of one job.
type striker struct {
	t       *testing.T
	mark    testprocess.Marked
	spared  map[int]bool // never hit
	known   map[int]bool // ranks that were there
	stopped []*time.Timer
	done    int
}

// ranks and daemons that there are. A daemon has a guard as its parent, else it is becoming a rank.
func (s *striker) processes() (ranks, daemons []int) {
	all := s.mark.Processes(s.t)
	guards := make(map[int]bool)
	for _, p := range all {
		guards[p.PID] = p.Variable("CRAFT_ROLE") == "guard"
	}
	for _, p := range all {
		switch {
		case p.Variable("CRAFT_ROLE") == "rank":
			ranks = append(ranks, p.PID)
		case p.Variable("CRAFT_ROLE") == "daemon" && guards[p.Parent]:
			daemons = append(daemons, p.PID)
		}
	}
	return ranks, daemons
}

// spare lets one of the first ranks live, with its node.
func (s *striker) spare() {
	if nodes := s.mark.Nodes(s.t, nil); len(nodes) > 0 {
		s.spared[nodes[0].Daemon], s.spared[nodes[0].Ranks[0]] = true, true
	}
}

// strike hits somebody, if there is anybody.
func (s *striker) strike(b blow) {
	ranks, daemons := s.processes()
	slices.Sort(ranks)
	those := ranks
	switch {
	case b.who == "newest" && len(ranks) > 0:
		those = ranks[len(ranks)-1:]
	case b.who == "daemon" && len(ranks) > 0: // a job does not begin without one of its nodes
		those = daemons
	case b.who == "daemon":
		those = nil
	}
	those = slices.DeleteFunc(slices.Clone(those), func(pid int) bool { return s.spared[pid] })
	if len(those) == 0 {
		return // they are on their way, or gone
	}
	pid, signal := those[int(b.pick)%len(those)], syscall.SIGKILL
	if b.stop > 0 {
		signal = syscall.SIGSTOP
	}
	if syscall.Kill(pid, signal) != nil {
		return
	}
	s.done++
	if b.stop > 0 {
		s.stopped = append(s.stopped, time.AfterFunc(b.stop, func() { _ = syscall.Kill(pid, syscall.SIGCONT) }))
	}
}

// started waits for a rank that was not there before, for a moment.
func (s *striker) started(ended <-chan struct{}) {
	for until := time.Now().Add(startSoon); time.Now().Before(until); time.Sleep(time.Millisecond) {
		ranks, _ := s.processes()
		if slices.ContainsFunc(ranks, func(pid int) bool { return !s.known[pid] }) {
			break
		}
		select {
		case <-ended:
			return
		default:
		}
	}
	s.look()
}

// look notes who is there.
func (s *striker) look() {
	ranks, _ := s.processes()
	for _, pid := range ranks {
		s.known[pid] = true
	}
}

// startSoon is how long a blow waits for a start that may not come.
const startSoon = 300 * time.Millisecond
