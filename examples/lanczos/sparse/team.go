package sparse

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// BlockRows is the number of rows of a block. It is part of the result: sums
// are formed block by block, so another value gives other last digits.
const BlockRows = 4096

// Team works on the blocks of a vector with several goroutines. Its methods must
// not be called concurrently with each other.
type Team struct {
	members int // the caller of Do is one of them
	sums    []float64
}

// NewTeam returns a team of the given number of members; 0 or less means one
// per core (GOMAXPROCS).
func NewTeam(members int) *Team {
	if members <= 0 {
		members = runtime.GOMAXPROCS(0)
	}
	return &Team{members: members}
}

// Do calls body once for each block of rows [lo, hi) out of [0, rows), from
// all members at the same time, and returns when all calls have returned.
func (t *Team) Do(rows int, body func(block, lo, hi int)) {
	n := blocks(rows)
	var taken atomic.Int64
	work := func() {
		for block := int(taken.Add(1)) - 1; block < n; block = int(taken.Add(1)) - 1 {
			lo := block * BlockRows
			body(block, lo, min(lo+BlockRows, rows))
		}
	}
	var others sync.WaitGroup
	for range min(t.members, n) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// Sum is Do for bodies that return a number. The numbers are added up in the
// order of the blocks, whoever computed them.
func (t *Team) Sum(rows int, body func(lo, hi int) float64) float64 {
	n := blocks(rows)
	if cap(t.sums) < n {
		t.sums = make([]float64, n)
	}
	sums := t.sums[:n]
	t.Do(rows, func(block, lo, hi int) { sums[block] = body(lo, hi) })
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return total
}

func blocks(rows int) int { return (rows + BlockRows - 1) / BlockRows }
