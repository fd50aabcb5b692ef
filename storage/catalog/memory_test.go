package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// Two ranks on each of two nodes, with copies of a version on the other node.
func TestMemoryIsLostWithItsNode(t *testing.T) {
	id := storage.ID{Version: 3}
	c := New(0, 0, 1, 1)
	for rank := range 4 {
		part := storage.Part{Rank: rank, Size: 4}
		c.Add(PartOf(id, part), MemoryOf(rank))
		c.Add(storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: part}, MemoryOf((rank+2)%4))
	}
	c.SetFacts(id, Facts{Plan: storage.LevelsOf(storage.Mem)})
	require.True(t, Volatile(c.View, id))
	require.Equal(t, storage.LevelsOf(storage.Mem), c.Reached(id, 2, 2))
	require.Equal(t, storage.LevelsOf(storage.Process), c.Reached(id, 1, 2), "on one node")
	for _, lost := range [][]Place{{0}, {1}, {MemoryOf(0)}, {MemoryOf(0), MemoryOf(1)}} {
		require.True(t, c.After(lost...).Complete(id), lost)
		require.Equal(t, storage.LevelsOf(storage.Process), c.After(lost...).Reached(id, 2, 2), lost)
	}
	require.False(t, c.After(MemoryOf(0), 1).Complete(id))
	require.False(t, InFiles(c.View).Any(id))
	part := storage.Part{Rank: 1, Size: 4}
	require.Equal(t, []Source{
		{Key: storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: part}, At: MemoryOf(3)}, {Key: PartOf(id, part), At: MemoryOf(1)},
	}, c.Sources(id, part, MemoryOf(3), 1))
	c.AddPart(id, part, 0)
	require.False(t, Volatile(c.View, id))
	c.Leave(id, storage.TierMemory)
	require.Equal(t, []Place{0}, c.NodesWith(id, storage.KindPart))
}

// Of what is in memory alone the newest stays, whatever is kept in files.
func TestMemoryRetention(t *testing.T) {
	entry := func(version uint64) storage.Entry {
		return storage.Entry{ID: storage.ID{Version: version}, Parts: []storage.Part{{Size: 1}}}
	}
	memory := func(version uint64) Kept {
		return Kept{Entry: entry(version), Reached: storage.LevelsOf(storage.Mem), Volatile: true}
	}
	local := func(version uint64, more ...storage.Level) Kept {
		return Kept{Entry: entry(version), Reached: storage.LevelsOf(append(more, storage.Local)...)}
	}
	levels := []storage.Level{storage.Mem, storage.Local}
	ids := func(versions ...uint64) (out []storage.ID) {
		for _, v := range versions {
			out = append(out, storage.ID{Version: v})
		}
		return out
	}
	p := Retention{Keep: 2}.Prunable(levels, []Kept{local(1), local(2), local(3), memory(4), memory(5)})
	require.Equal(t, Prunable{Everywhere: ids(1), Memory: ids(4)}, p)
	p = Retention{Keep: 2}.Prunable(levels, []Kept{memory(4), local(5, storage.Mem)})
	require.Equal(t, Prunable{Memory: ids(4)}, p)
	p = Retention{Keep: 1}.Prunable(levels, []Kept{memory(4), local(5)})
	require.Equal(t, Prunable{}, p, "nothing newer is in memory")
	p = Retention{Keep: 1}.Prunable(levels, []Kept{local(2, storage.Mem), local(3), local(4)})
	require.Equal(t, Prunable{Everywhere: ids(3)}, p, "nothing newer outlives a node")
	p = Retention{Keep: 1}.Prunable(levels, []Kept{local(2, storage.Mem), local(3, storage.Partner), local(4)})
	require.Equal(t, Prunable{Everywhere: ids(2)}, p, "a newer one does")
	home := local(2, storage.Mem)
	home.Home = true
	p = Retention{Keep: 1}.Prunable(levels, []Kept{home, local(3), local(4)})
	require.Equal(t, Prunable{Everywhere: ids(3), Nodes: ids(2)}, p, "it is at home")
}
