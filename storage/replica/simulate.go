package replica

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Simulation lets ranks or nodes fail one after the other, each that is left equally likely and
// without repair, until the actual placement has lost data (paper, VI-B1): for any number of
// ranks and copies, and for nodes of any sizes, where Loss has no formula.
type Simulation struct {
	Copies int
	Ranks  int
	Nodes  []int // the node of each rank; nil: each has one of its own
	// Shared allows more copies than nodes.
	Shared bool
	// ByNode: nodes fail, with all their ranks.
	ByNode bool
	Trials int // 0: 1000
	Seed   uint64
	Cores  int // 0: all
}

// Losses are the results of a simulation.
type Losses struct {
	failures []int // ranks, or nodes, that had failed at the loss, ascending
	ranks    []int // ranks that had
}

// Run simulates. What it gives depends on the seed alone.
func (s Simulation) Run(ctx context.Context) (*Losses, error) {
	f, err := s.failing()
	if err != nil {
		return nil, err
	}
	return f.run(ctx, s)
}

// failing is what fails together, and what is lost with which.
type failing struct {
	sets, copies int
	holder       func(set, copy int) Seat
	different    int // sets, if that is known, of as many seats as there are copies
	seats        int
	unit         []int // of each seat; nil: the seat itself
	sizes        []int // seats of each unit
}

func (s Simulation) failing() (failing, error) {
	f := failing{sets: s.Ranks, copies: s.Copies, seats: s.Ranks}
	switch {
	case s.Ranks < 1 || s.Trials < 0 || s.Cores < 0:
		return f, fmt.Errorf("%w: %d ranks, %d trials on %d cores: there is 1 rank or more, and nothing is negative", ErrOptions, s.Ranks, s.Trials, s.Cores)
	case s.Nodes != nil && len(s.Nodes) != s.Ranks:
		return f, fmt.Errorf("%w: nodes of %d ranks, and there are %d", ErrOptions, len(s.Nodes), s.Ranks)
	case s.Nodes == nil && (s.Copies < 1 || s.Copies > s.Ranks):
		return f, fmt.Errorf("%w: %d copies on %d ranks: allowed are 1 to %d", ErrOptions, s.Copies, s.Ranks, s.Ranks)
	case s.Nodes == nil: // L(x,k) itself, in no memory at all
		f.holder = func(set, k int) Seat { return Seat((set + k*s.Ranks/s.Copies) % s.Ranks) }
		f.different = s.Ranks / greatestDivisor(s.Ranks, s.Copies) // what turns the copies into themselves divides both
		return f, nil
	}
	places, err := NewPlaces(s.Nodes, s.Copies, s.Shared)
	if err != nil {
		return f, err
	}
	f.holder = func(set, k int) Seat { return places.Copy(Slot(set), k) }
	if s.ByNode {
		f.unit = make([]int, s.Ranks)
		for n, seats := range seatsOfNodes(s.Nodes) {
			f.sizes = append(f.sizes, len(seats))
			for _, seat := range seats {
				f.unit[seat] = n
			}
		}
	}
	return f, nil
}

// units is the number of those that can fail.
func (f failing) units() int {
	if f.unit == nil {
		return f.seats
	}
	return len(f.sizes)
}

// mostTrials have 16 bytes of memory each.
const mostTrials = 1 << 30

func (f failing) run(ctx context.Context, s Simulation) (*Losses, error) {
	trials, cores := s.Trials, s.Cores
	if trials == 0 {
		trials = 1000
	}
	if cores == 0 {
		cores = runtime.GOMAXPROCS(0)
	}
	if trials > mostTrials {
		return nil, fmt.Errorf("replica: %d trials: allowed are up to %d", trials, mostTrials)
	}
	l := &Losses{failures: make([]int, trials), ranks: make([]int, trials)}
	workers, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(cores, trials) {
		workers.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= trials {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				l.failures[i], l.ranks[i] = f.trial(mix(s.Seed, uint64(i)))
			}
		})
	}
	if err := workers.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(l.failures)
	slices.Sort(l.ranks)
	return l, nil
}

// trial returns how many units, and ranks in them, have failed when data is lost. Each unit fails
// at a time of its own, drawn by hashing its number: the data of a set is lost with the last of its
// holders, and nothing need be stored or sorted.
func (f failing) trial(seed uint64) (units, ranks int) {
	loss := uint64(math.MaxUint64)
	for set := range f.sets {
		last := uint64(0)
		for k := 0; k < f.copies && last < loss; k++ {
			last = max(last, f.time(seed, f.holder(set, k)))
		}
		loss = min(loss, last)
	}
	for u := range f.units() {
		if mix(uint64(u), seed) > loss {
			continue
		}
		units++
		if f.unit == nil {
			ranks++
		} else {
			ranks += f.sizes[u]
		}
	}
	return units, ranks
}

func (f failing) time(seed uint64, s Seat) uint64 {
	unit := int(s)
	if f.unit != nil {
		unit = f.unit[s]
	}
	return mix(uint64(unit), seed)
}

// Bound returns, for each of some numbers of failures, how many different sets of holders are
// expected to have failed: at least the probability of a loss, and close to it where that is
// too small to be simulated. It is g(f/p)^r for few failures of the ranks of Loss.
func (s Simulation) Bound(failures ...int) ([]float64, error) {
	f, err := s.failing()
	if err != nil {
		return nil, err
	}
	sets := f.distinct()
	bounds := make([]float64, len(failures))
	for i, failed := range failures {
		for size, number := range sets {
			expected := float64(number)
			for j := range size {
				expected *= float64(max(failed-j, 0)) / float64(f.units()-j)
			}
			bounds[i] += expected
		}
	}
	return bounds, nil
}

// distinct counts the different sets of units that hold something together, by their sizes.
func (f failing) distinct() map[int]int {
	if f.different > 0 {
		return map[int]int{f.copies: f.different}
	}
	seen, sizes := make(map[uint64]bool), make(map[int]int)
	units := make([]int, 0, f.copies)
	for set := range f.sets {
		units = units[:0]
		for k := range f.copies {
			u := int(f.holder(set, k))
			if f.unit != nil {
				u = f.unit[u]
			}
			units = append(units, u)
		}
		slices.Sort(units)
		units = slices.Compact(units)
		key := uint64(0)
		for _, u := range units {
			key = mix(key, uint64(u))
		}
		if !seen[key] {
			seen[key] = true
			sizes[len(units)]++
		}
	}
	return sizes
}

func greatestDivisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// Estimate is what a simulation says of a value, with an interval that holds it
// with a probability of 95 %.
type Estimate struct{ Value, Low, High float64 }

const deviations95 = 1.959964 // of a normal distribution, to either side

// By estimates the probability that data is lost when f ranks, or nodes, have failed, or before
// (Wilson's interval).
func (l *Losses) By(f int) Estimate {
	n, lost := float64(len(l.failures)), float64(sort.SearchInts(l.failures, f+1))
	z := deviations95 * deviations95
	middle, half := (lost+z/2)/(n+z), deviations95/(n+z)*math.Sqrt(lost*(n-lost)/n+z/4)
	return Estimate{lost / n, max(0, min(middle-half, lost/n)), min(1, max(middle+half, lost/n))}
}

// Mean estimates the expected number of failures of ranks, or nodes, until a loss.
func (l *Losses) Mean() Estimate { return mean(l.failures) }

// MeanRanks estimates how many ranks have failed then.
func (l *Losses) MeanRanks() Estimate { return mean(l.ranks) }

// Quantile is the smallest number of failures by which a share u of the trials has lost data.
func (l *Losses) Quantile(u float64) int {
	return l.failures[min(max(int(math.Ceil(u*float64(len(l.failures))))-1, 0), len(l.failures)-1)]
}

func mean(values []int) Estimate {
	var sum, squares float64
	for _, v := range values {
		sum += float64(v)
	}
	n := float64(len(values))
	for _, v := range values {
		squares += (float64(v) - sum/n) * (float64(v) - sum/n)
	}
	half := deviations95 * math.Sqrt(squares/max(n-1, 1)/n)
	return Estimate{sum / n, sum/n - half, sum/n + half}
}
