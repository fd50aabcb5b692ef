package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// harm does something to files of version 5, the newest one, on the nodes or on
// the parallel file system.
type harm func(t *testing.T, n *testNodes)

func flipped(file string, at ...float64) harm {
	return func(t *testing.T, n *testNodes) {
		for _, share := range at {
			flip(t, one(t, n.files(t, 5, file)), share)
		}
	}
}

func flippedAtHome(file string, at float64) harm {
	return func(t *testing.T, n *testNodes) { flip(t, one(t, n.flushed(t, 5, file)), at) }
}

func cut(file string, share float64) harm {
	return func(t *testing.T, n *testNodes) {
		path := one(t, n.files(t, 5, file))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(path, int64(share*float64(info.Size()))))
	}
}

func deleted(file string) harm {
	return func(t *testing.T, n *testNodes) { require.NoError(t, os.Remove(one(t, n.files(t, 5, file)))) }
}

func together(all ...harm) harm {
	return func(t *testing.T, n *testNodes) {
		for _, h := range all {
			h(t, n)
		}
	}
}

const fromElsewhere = "bytes of a part are taken from another place"

// As long as one good source of each chunk is left, the newest version comes
// back, and somebody is told where the bytes came from.
func TestLevelsRepairOnRead(t *testing.T) {
	for _, c := range sample(t, []struct {
		name, levels string
		harm         harm
		told         string
	}{
		{"a chunk of a part, copy", "partner", flipped("rank-00003", 0.5), fromElsewhere},
		{"the header of a part, copy", "partner", flipped("rank-00003", 0.001), fromElsewhere},
		{"the end of a part, copy", "partner", flipped("rank-00003", 1), fromElsewhere},
		{"a part and its copy in different chunks", "partner", together(flipped("rank-00003", 0.3), flipped("copy-rank-00003", 0.7)), fromElsewhere},
		{"a copy", "partner", flipped("copy-rank-00003", 0.5), ""},
		{"several parts", "partner", together(flipped("rank-00000", 0.2), flipped("rank-00003", 0.6, 0.8), flipped("rank-00007", 0.4)), fromElsewhere},
		{"half a part", "partner", cut("rank-00003", 0.5), fromElsewhere},
		{"an empty part", "partner", cut("rank-00003", 0), fromElsewhere},
		{"no part", "partner", deleted("rank-00003"), "redundancy is back"},
		{"no part and one damaged", "partner", together(deleted("rank-00003"), flipped("rank-00004", 0.5)), fromElsewhere},

		{"a chunk of a part, xor", "xor", flipped("rank-00003", 0.5), fromElsewhere},
		{"the header of a part, xor", "xor", flipped("rank-00003", 0.001), fromElsewhere},
		{"half a part, xor", "xor", cut("rank-00003", 0.5), fromElsewhere},
		{"no part, xor", "xor", deleted("rank-00003"), "a lost part was rebuilt"},
		{"parity, xor", "xor", flipped("parity-rank-00003", 0.5), ""},
		{"a part, rs", "rs", flipped("rank-00003", 0.5), fromElsewhere},
		{"no part and parity, rs", "rs", together(deleted("rank-00003"), flipped("parity-rank-00001", 0.5)), "a lost part was rebuilt"},
		{"two parts of a set, rs", "rs", together(flipped("rank-00001", 0.5), flipped("rank-00003", 0.5)), fromElsewhere},

		{"a part that was flushed", "local,pfs", flipped("rank-00003", 0.5), fromElsewhere},
		{"a part, its copy, flushed", "partner,pfs", together(flipped("rank-00003", 0.5), flipped("copy-rank-00003", 0.5)), fromElsewhere},
		{"a part, its copy and the flushed file in different chunks", "partner,pfs",
			together(flipped("rank-00003", 0.3), flipped("copy-rank-00003", 0.5), flippedAtHome("rank-00003", 0.7), flipped("rank-00003", 0.5)), fromElsewhere},
		{"the flushed file", "local,pfs", flippedAtHome("rank-00003", 0.5), ""},
	}, 1) {
		t.Run(c.name, func(t *testing.T) {
			n := newTestNodes(t, 0, 0, 1, 1, 2, 2, 3, 3)
			final := none
			if c.levels != "partner" && len(c.levels) > 3 {
				final = func(ctx context.Context, g *grid) error { return g.cp.Flush(ctx) }
			}
			n.job(t, c.levels, 5, final, WithKeep(1))
			c.harm(t, n)
			log := n.job(t, c.levels, 7, healed) // or the end comes before a message
			require.Contains(t, log, "msg=restored")
			require.Contains(t, log, "iteration=4", "it is not the newest version")
			require.NotContains(t, log, "damaged and set aside")
			if c.told != "" {
				require.Contains(t, log, c.told)
			}
		})
	}
}

// Damage that leaves no good source of a chunk sets the version aside, with a
// message, and the one before comes back.
func TestLevelsDamageEverywhere(t *testing.T) {
	for _, c := range sample(t, []struct {
		name, levels string
		harm         harm
		told         string
	}{
		{"local", "local", flipped("rank-00003", 0.5), "version is damaged and set aside"},
		{"local, cut", "local", cut("rank-00003", 0.5), "version is damaged and set aside"},
		{"local, deleted", "local", deleted("rank-00003"), "the parts of ranks 3 of 8 are nowhere"},
		{"copy", "partner", together(flipped("rank-00003", 0.5), flipped("copy-rank-00003", 0.5)), "version is damaged and set aside"},
		{"copy, cut", "partner", together(cut("rank-00003", 0.5), cut("copy-rank-00003", 0)), "version is damaged and set aside"},
		{"copy, deleted", "partner", together(deleted("rank-00003"), deleted("copy-rank-00003")), "the parts of ranks 3 of 8 are nowhere"},
		{"parity", "xor", together(flipped("rank-00005", 0.5), flipped("rank-00007", 0.5)), "version is damaged and set aside"},
		{"all of it", "partner,pfs", together(flipped("rank-00003", 0.5), flipped("copy-rank-00003", 0.5), flippedAtHome("rank-00003", 0.5)), "version is damaged and set aside"},
	}, 1) {
		t.Run(c.name, func(t *testing.T) {
			n := newTestNodes(t, 0, 0, 1, 1, 2, 2, 3, 3)
			final := none
			if c.levels == "partner,pfs" {
				final = func(ctx context.Context, g *grid) error { return g.cp.Flush(ctx) }
			}
			n.job(t, c.levels, 5, final)
			c.harm(t, n)
			log := n.job(t, c.levels, 7, none)
			require.Contains(t, log, c.told)
			require.Contains(t, log, "msg=restored")
			require.Contains(t, log, "iteration=3", "it is not the version before")
		})
	}
}

// With nothing good left there is an error, and no start from zero.
func TestLevelsNothingGood(t *testing.T) {
	for _, levels := range []string{"local", "partner"} {
		for name, spoil := range map[string]func(t *testing.T, n *testNodes){
			"flipped": func(t *testing.T, n *testNodes) {
				for v := 1; v <= 5; v++ {
					for _, file := range append(n.files(t, v, "rank-00002"), n.files(t, v, "copy-rank-00002")...) {
						flip(t, file, 0.5)
					}
				}
			},
			"deleted": func(t *testing.T, n *testNodes) {
				for v := 1; v <= 5; v++ {
					for _, file := range append(n.files(t, v, "rank-00002"), n.files(t, v, "copy-rank-00002")...) {
						require.NoError(t, os.Remove(file))
					}
				}
			},
			"lost": func(t *testing.T, n *testNodes) { n.lose(t, 0, 1, 2, 3) },
		} {
			t.Run(levels+" "+name, func(t *testing.T) {
				n := newTestNodes(t, 0, 0, 1, 1, 2, 2, 3, 3)
				n.job(t, levels, 5, none)
				spoil(t, n)
				log, err := n.try(t, levels, 7, none)
				require.ErrorIs(t, err, ErrNoUsableVersion, log)
			})
		}
	}
}

// What a restart finds damaged on a node is whole again afterwards: the next loss
// or damage meets a version with all its redundancy.
func TestLevelsDamageIsMended(t *testing.T) {
	harms := map[string]harm{
		"flipped": flipped("rank-00003", 0.5), "cut": cut("rank-00003", 0.5), "deleted": deleted("rank-00003"),
	}
	for _, levels := range []string{"partner", "xor", "rs"} {
		for _, name := range sample(t, slices.Sorted(maps.Keys(harms)), 1) {
			t.Run(fmt.Sprint(levels, " ", name), func(t *testing.T) {
				n := newTestNodes(t, 0, 0, 1, 1, 2, 2, 3, 3)
				n.job(t, levels, 5, none)
				path := one(t, n.files(t, 5, "rank-00003"))
				whole, err := os.ReadFile(path)
				require.NoError(t, err)
				harms[name](t, n)
				isWhole := func() bool {
					now, err := os.ReadFile(path)
					return err == nil && bytes.Equal(now, whole)
				}
				n.job(t, levels, 5, func(context.Context, *grid) error { return eventually(isWhole) })
				require.True(t, isWhole())
			})
		}
	}
}
