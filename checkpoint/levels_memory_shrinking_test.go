package checkpoint

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
)

// After shrinking there are copies again, on other nodes, of what ranks have written that are no more: one node after
// the other may be lost before there is another version.
func TestMemoryIsSpreadAfterShrinking(t *testing.T) {
	for name, c := range map[string]struct {
		ranks, nodes, copies int
		levels               string
		victims              [][]comm.Rank // whose nodes are killed at once, in each epoch
	}{
		"a rank a node":       {6, 6, 2, "mem", [][]comm.Rank{{0}, {2}, {3}, {0}}}, // 0 and 3, then 2 in its place, have had the same
		"two ranks a node":    {8, 4, 2, "mem:1,local:100", [][]comm.Rank{{0}, {5}}},
		"three copies":        {6, 6, 3, "mem", [][]comm.Rank{{0, 2}, {1, 2}}},
		"no other node":       {4, 4, 2, "mem", [][]comm.Rank{{1}, {1}, {1}}},
		"of a process":        {4, 1, 2, "process", [][]comm.Rank{{2}, {1}, {0}}},
		"more than two nodes": {9, 3, 2, "mem", [][]comm.Rank{{8}, {0}}},
	} {
		for _, mode := range modes {
			t.Run(name+"/"+mode, func(t *testing.T) {
				w := newMemoryWorld(t, c.ranks, c.nodes, c.levels, inMode(mode), func(o *options) { o.MemCopies = c.copies })
				w.recovery = comm.Shrinking
				one := c.levels == "process"
				kill := func(p *memoryProgram) error {
					p.cp.placement.Healed()
					if err := comm.Barrier(context.Background(), p.c); err != nil {
						return err
					}
					for _, victim := range c.victims[p.epoch()] {
						switch {
						case victim != p.c.Rank():
						case one:
							p.rank.Die()
						default:
							p.rank.KillNode(p.rank.Node())
						}
					}
					_, err := comm.AllreduceOne(context.Background(), p.c, 0, comm.Sum) // which all others see, or some
					return err
				}
				w.step = func(p *memoryProgram) error {
					if p.epoch() > 0 || p.iter < 5 {
						return nil
					}
					return kill(p)
				}
				w.restored = func(p *memoryProgram) error {
					if n := p.epoch(); n == 0 || n >= len(c.victims) {
						return nil
					}
					return kill(p)
				}
				w.run()
				want := []int{0}
				for range c.victims {
					want = append(want, 5)
				}
				require.Equal(t, want, w.restarts, w.log.String())
			})
		}
	}
}
