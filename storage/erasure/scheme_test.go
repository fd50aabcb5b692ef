package erasure

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
)

// unevenParts are parts of sizes as unevenSizes has them, one of them huge.
func unevenParts(rng *rand.Rand, l Layout, huge int) [][]byte {
	sizes := unevenSizes(rng, l)
	sizes[rng.IntN(len(sizes))] = int64(huge)
	var data [][]byte
	for _, n := range sizes {
		data = append(data, bytesOf(rng, int(n)))
	}
	return data
}

// Sets of all sizes, parts of all sizes, in small and large pieces: whatever is
// lost comes back.
func TestProtect(t *testing.T) {
	for n := 2; n <= 6; n++ {
		for parity := 1; parity <= min(2, n-1); parity++ {
			t.Run(fmt.Sprintf("%d ranks, %d parities", n, parity), func(t *testing.T) {
				rng := testseed.Rand(t)
				x := newTrial(t, n, parity)
				var versions [][][]byte
				for v := range 3 {
					versions = append(versions, unevenParts(rng, Layout{n, parity, x.block}, 100_000*v))
				}
				seed := rng.Uint64()
				x.play(func(m *member) {
					dice := rand.New(rand.NewPCG(seed, uint64(m.me)))
					for v, data := range versions {
						piece := []int{1 << 20, 50, 3 * x.block}[(m.me+v)%3]
						if err := m.write(idOf(uint64(v+1)), data[m.me], anyPiece(dice, piece)); err != nil {
							t.Errorf("rank %d: %v", m.me, err)
						}
					}
				})
				for v, data := range versions {
					x.requireProtected(idOf(uint64(v+1)), data)
				}
			})
		}
	}
}

// Several versions are written at once, and ranks begin with them in different
// orders.
func TestVersionsAtOnce(t *testing.T) {
	const versions = 3
	rng := testseed.Rand(t)
	x := newTrial(t, 4, 2)
	var data [versions][][]byte
	for v := range data {
		data[v] = unevenParts(rng, Layout{4, 2, x.block}, 200_000)
	}
	x.play(func(m *member) {
		done := make(chan error, versions)
		for i := range versions {
			v := (i + m.me) % versions
			go func() { done <- m.write(idOf(uint64(v+1)), data[v][m.me], all(7000)) }()
		}
		for range versions {
			if err := <-done; err != nil {
				t.Errorf("rank %d: %v", m.me, err)
			}
		}
	})
	for v := range data {
		x.requireProtected(idOf(uint64(v+1)), data[v])
	}
}

// One rank begins when the others have come to the end of the window at a holder
// that needs it: they are taken in no further, and go on with it.
func TestSlowRank(t *testing.T) {
	for _, block := range []int{4 << 10, 128 << 10} { // messages that are buffered on their way, and such that are not
		x := newTrial(t, 4, 1)
		x.exchange.Block = block
		x.playSlowRank(testseed.Rand(t))
	}
}

func (x *trial) playSlowRank(rng *rand.Rand) {
	const slow, holder = 3, 0
	data := [][]byte{bytesOf(rng, 1_000_000), bytesOf(rng, 1_000_000), bytesOf(rng, 900_000), bytesOf(rng, 300_000)}
	id := idOf(1)
	full := make(chan struct{})
	x.play(func(m *member) {
		switch m.me {
		case holder:
			go func() { defer close(full); m.awaitFullWindow(id, slow) }()
		case slow:
			<-full
		}
		if err := m.write(id, data[m.me], all(10_000)); err != nil {
			x.t.Errorf("rank %d: %v", m.me, err)
		}
	})
	x.requireProtected(id, data)
}

// awaitFullWindow waits until all but one giver are at the end of the window.
func (m *member) awaitFullWindow(id storage.ID, but int) {
	for m.ctx.Err() == nil {
		if c := m.collecting(id); c != nil {
			c.mu.Lock()
			waiting := 0
			for i := range c.givers {
				if i != m.me && i != but && c.givers[i].next == m.scheme.window {
					waiting++
				}
			}
			base := c.base
			c.mu.Unlock()
			if waiting == m.size()-2 && base == 0 {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// Blocks are far smaller than what the exchange holds back, ranks write in pieces
// of different sizes: nobody waits for ever.
func TestSmallBlocks(t *testing.T) {
	for parity := 1; parity <= 3; parity++ {
		rng := testseed.Rand(t)
		x := newTrial(t, 5, parity)
		x.block = 64
		var data [][]byte
		for range 5 {
			data = append(data, bytesOf(rng, 100_000+rng.IntN(50_000)))
		}
		x.play(func(m *member) {
			if err := m.write(idOf(1), data[m.me], all(100*(m.me+1))); err != nil {
				t.Errorf("rank %d: %v", m.me, err)
			}
		})
		var part bytes.Buffer
		require.NoError(t, RebuildPart(t.Context(), idOf(1), x.part(0), x.without(0), &part))
		require.True(t, bytes.Equal(data[0], part.Bytes()))
	}
}
