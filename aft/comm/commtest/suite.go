package commtest

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/testseed"
)

// Launch runs body on n ranks, waits for all of them, and fails t with the
// errors that the bodies return; the first one ends the contexts of the other
// bodies, which may be waiting for that rank. It may skip t if the engine cannot
// run n ranks.
type Launch func(t *testing.T, n int, body func(ctx context.Context, c driver.Comm) error)

// sizes have powers of two, their neighbours, and odd ones.
var sizes = []int{1, 2, 3, 4, 5, 7, 8, 16}

// trial is one requirement. Its body runs on all ranks.
type trial struct {
	name string
	min  int // fewest ranks that it needs
	body func(ctx context.Context, c *comm.Comm) error
}

// leftOut reports whether a number of ranks is not tried with -short: of what ranks send to each
// other, without collectives, few numbers say all.
func (tr trial) leftOut(n int) bool {
	kind, _, _ := strings.Cut(tr.name, "/")
	return testing.Short() && slices.Contains([]string{"message", "request", "vector"}, kind) && n > 3 && n != 8
}

// call runs the body on one rank.
func (tr trial) call(ctx context.Context, c *comm.Comm) error {
	return ends(func() error { return tr.body(ctx, c) })
}

// together is call, and keeps the ranks that are done until all are, so that nobody who
// still tries something sees a rank that has left. Its errors name the rank.
func (tr trial) together(ctx context.Context, c *comm.Comm) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errBlocked)
	defer cancel()
	err := tr.call(ctx, c)
	if err == nil {
		err = comm.Barrier(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("rank %d of %d: %w", c.Rank(), c.Size(), err)
	}
	return nil
}

// of are the trials of one kind, which is in their names.
func of(kind string, trials []trial) []trial {
	trials = slices.Clone(trials)
	for i := range trials {
		trials[i].name = kind + "/" + trials[i].name
	}
	return trials
}

// trials are all of them; the seed is for the random ones, of which some are repeated.
func trials(seed uint64, repeats int) []trial {
	return append(slices.Concat(of("message", messageTrials), of("request", requestTrials), of("vector", vectorTrials(seed, repeats)), collectives()),
		trial{"nodes/alike", 1, nodesAlike}, trafficTrial(seed))
}

func collectives() []trial {
	return slices.Concat(of("collective", collectiveTrials), of("length", lengthTrials))
}

// RunHere is the suite as the body of one rank: all trials one after the other on
// one communicator. It is for engines whose ranks are processes, which take too
// long to start for each trial.
func RunHere(ctx context.Context, d driver.Comm, seed uint64) error {
	c := comm.New(d)
	for _, tr := range trials(seed, repeats) {
		if c.Size() < tr.min {
			continue
		}
		if err := tr.together(ctx, c); err != nil {
			return fmt.Errorf("%s, %w", tr.name, err)
		}
	}
	return nil
}

// repeats is how often something random is tried on a number of ranks.
const repeats = 20

// Run runs the suite on an engine.
func Run(t *testing.T, launch Launch) {
	n := repeats
	if testing.Short() {
		n /= 3
	}
	run(t, launch, trials(testseed.Seed(t), n), sizes)
}

// RunCollectives runs the part of the suite that is about collectives on groups
// of the given sizes.
func RunCollectives(t *testing.T, launch Launch, sizes ...int) {
	run(t, launch, collectives(), sizes)
}

func run(t *testing.T, launch Launch, trials []trial, sizes []int) {
	for _, tr := range trials {
		t.Run(tr.name, func(t *testing.T) {
			for _, n := range sizes {
				if n >= tr.min && !tr.leftOut(n) && !t.Run(fmt.Sprintf("ranks=%d", n), func(t *testing.T) {
					launch(t, n, func(ctx context.Context, d driver.Comm) error { return tr.together(ctx, comm.New(d)) })
				}) {
					break // larger groups would say the same
				}
			}
		})
	}
}

// equal is an error that says what differs, or nil.
func equal[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: got %+v, want %+v", what, got, want)
	}
	return nil
}

// equalSlices is an error that says where the slices differ, or nil.
func equalSlices[T comparable](what string, got, want []T) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s: got %d elements, want %d", what, len(got), len(want))
	}
	for i, g := range got {
		if g != want[i] {
			return fmt.Errorf("%s: element %d of %d: got %v, want %v", what, i, len(got), g, want[i])
		}
	}
	return nil
}

// first is the first error, or nil.
func first(errs ...error) error { return cmp.Or(errs...) }

// check ends a trial with the first of the errors, if there is one. It is for the goroutine
// of the body, and where nobody wants to say more about the error.
func check(errs ...error) {
	if err := first(errs...); err != nil {
		panic(mistake{err})
	}
}

// must is check for what comes with a value.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// mistake is what check panics with.
type mistake struct{ error }

// ends is how a trial ends: as it returns, or by check.
func ends(trial func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case mistake:
			err = v.error
		default:
			panic(v)
		}
	}()
	return trial()
}

// pattern is data that tells sender, tag and place apart.
func pattern(source comm.Rank, tag comm.Tag, length int) []byte {
	b := make([]byte, length+8)
	x := uint64(source)<<32 + uint64(tag)
	for i := 0; i < length; i += 8 {
		x = x*6364136223846793005 + 1442695040888963407
		binary.LittleEndian.PutUint64(b[i:], x^x>>32)
	}
	return b[:length]
}

// forLengths tries each of the lengths, which are in some unit.
func forLengths(lengths []int, unit string, try func(length int) error) error {
	for _, length := range lengths {
		if err := ends(func() error { return try(length) }); err != nil {
			return fmt.Errorf("%d %s: %w", length, unit, err)
		}
	}
	return nil
}

// right and left are the neighbours in a ring.
func right(c *comm.Comm) comm.Rank { return (c.Rank() + 1) % comm.Rank(c.Size()) }

func left(c *comm.Comm) comm.Rank {
	n := comm.Rank(c.Size())
	return (c.Rank() + n - 1) % n
}

// nodesAlike: all ranks say the same of where each is, if they say anything.
func nodesAlike(ctx context.Context, c *comm.Comm) error {
	nodes := c.Nodes()
	if nodes != nil {
		check(equal("number of nodes", len(nodes), c.Size()))
	}
	for r, of := range must(comm.AllgatherBytes(ctx, c, fmt.Append(nil, nodes))) {
		check(equal(fmt.Sprintf("nodes as rank %d says", r), string(of), fmt.Sprint(nodes)))
	}
	was := slices.Clone(nodes)
	for r := range nodes { // it is the caller's
		nodes[r] = -2
	}
	return equalSlices("nodes afterwards", c.Nodes(), was)
}
