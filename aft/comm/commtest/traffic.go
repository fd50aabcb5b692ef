package commtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
)

// letter is one message of the random test.
type letter struct {
	source, dest comm.Rank
	tag          comm.Tag
	length       int
}

// runTraffic sends random messages between random ranks: the tags collide, the
// lengths are on both sides of what engines buffer, and every rank posts, waits
// and lingers in an order of its own.
func runTraffic(t *testing.T, launch Launch) {
	seed := testseed.Seed(t)
	for _, n := range sizes {
		t.Run(fmt.Sprintf("ranks=%d", n), func(t *testing.T) {
			launch(t, n, onDriver(together(func(ctx context.Context, c *comm.Comm) error {
				return traffic(ctx, c, letters(seed, n))
			})))
		})
	}
}

// letters are the same on all ranks.
func letters(seed uint64, n int) []letter {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	all := make([]letter, 60*n)
	for i := range all {
		length := random.IntN(256)
		switch random.IntN(10) {
		case 0:
			length = random.IntN(300 << 10)
		case 1, 2:
			length = random.IntN(20 << 10)
		}
		all[i] = letter{
			source: comm.Rank(random.IntN(n)), dest: comm.Rank(random.IntN(n)),
			tag: comm.Tag(random.IntN(4)), length: length,
		}
	}
	return all
}

// traffic sends and receives the letters of one rank.
func traffic(ctx context.Context, c *comm.Comm, all []letter) error {
	random := rand.New(rand.NewPCG(uint64(len(all)), uint64(c.Rank())))
	type arrival struct {
		letter
		index int
		buf   []byte
		recv  comm.Request
	}
	var arrivals []arrival
	var sends []comm.Request
	for i, l := range all {
		if l.dest == c.Rank() {
			buf := make([]byte, l.length+random.IntN(3))
			arrivals = append(arrivals, arrival{l, i, buf, comm.Irecv(c, l.source, l.tag, buf)})
		}
		if l.source == c.Rank() {
			sends = append(sends, comm.Isend(c, l.dest, l.tag, pattern(l.source, comm.Tag(i), l.length)))
		}
	}
	random.Shuffle(len(arrivals), func(i, k int) { arrivals[i], arrivals[k] = arrivals[k], arrivals[i] })
	for _, a := range arrivals {
		st, err := a.recv.Wait(ctx)
		err = first(err,
			equal("status", st, comm.Status{Source: a.source, Tag: a.tag, Bytes: a.length}),
			equalSlices("data", a.buf[:a.length], pattern(a.source, comm.Tag(a.index), a.length)))
		if err != nil {
			return fmt.Errorf("message %d: %w", a.index, err)
		}
	}
	return comm.WaitAll(ctx, sends...)
}
