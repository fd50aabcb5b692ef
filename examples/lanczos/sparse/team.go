package sparse

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// BlockRows is the number of rows of a block. It is part of the result: sums
// are formed block by block, so another value gives other last digits.
const BlockRows = 4096

// Team is a fixed set of goroutines that work on the blocks of a vector. Its
// methods must not be called concurrently with each other. Close ends it.
type Team struct {
	start []chan *phase // one per goroutine; the caller of Do is a member too
	done  sync.WaitGroup
	ended sync.WaitGroup
	sums  []float64
}

// phase is one parallel loop over blocks.
type phase struct {
	rows int
	body func(block, lo, hi int)
	next atomic.Int64
}

// NewTeam starts a team of the given number of members; 0 or less means one
// per core (GOMAXPROCS). The goroutine that calls [Team.Do] is one of them.
func NewTeam(members int) *Team {
	if members <= 0 {
		members = runtime.GOMAXPROCS(0)
	}
	t := &Team{start: make([]chan *phase, members-1)}
	for i := range t.start {
		start := make(chan *phase)
		t.start[i] = start
		t.ended.Go(func() {
			for p := range start {
				p.work()
				t.done.Done()
			}
		})
	}
	return t
}

// Close ends the goroutines of the team and waits for them.
func (t *Team) Close() {
	for _, start := range t.start {
		close(start)
	}
	t.ended.Wait()
	t.start = nil
}

// Do calls body once for each block of rows [lo, hi) out of [0, rows), from
// all members at the same time, and returns when all calls have returned.
func (t *Team) Do(rows int, body func(block, lo, hi int)) {
	p := &phase{rows: rows, body: body}
	wake := min(len(t.start), blocks(rows)-1)
	for i := range max(wake, 0) {
		t.done.Add(1)
		t.start[i] <- p
	}
	p.work()
	t.done.Wait()
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

func (p *phase) work() {
	for n := blocks(p.rows); ; {
		block := int(p.next.Add(1)) - 1
		if block >= n {
			return
		}
		lo := block * BlockRows
		p.body(block, lo, min(lo+BlockRows, p.rows))
	}
}

func blocks(rows int) int { return (rows + BlockRows - 1) / BlockRows }
