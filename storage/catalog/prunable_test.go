package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

func TestPrunable(t *testing.T) {
	whole := func(n uint64) storage.Entry {
		return storage.Entry{ID: storage.ID{Version: n}, Parts: []storage.Part{{Rank: 0, Size: 1}}}
	}
	at := func(n uint64, level storage.Level, home bool) Kept {
		return Kept{Entry: whole(n), Reached: storage.LevelsOf(level), Home: home}
	}
	pending := func(n uint64) Kept {
		return Kept{Entry: whole(n), Reached: storage.LevelsOf(storage.Partner), Pending: true}
	}
	refers := func(n, oldest uint64) Kept {
		return Kept{Entry: whole(n), Reached: storage.LevelsOf(storage.Local), Oldest: oldest}
	}
	ids := func(numbers ...uint64) (out []storage.ID) {
		for _, n := range numbers {
			out = append(out, storage.ID{Version: n})
		}
		return out
	}
	levels := []storage.Level{storage.Local, storage.Partner}
	for _, c := range []struct {
		name     string
		policy   Retention
		versions []Kept
		want     Prunable
	}{
		{"nothing", Retention{Keep: 1}, nil, Prunable{}},
		{"the last safe one stays", Retention{Keep: 1},
			[]Kept{at(1, storage.Partner, false), at(2, storage.Local, false), at(3, storage.Local, false)}, Prunable{Everywhere: ids(2)}},
		{"a safer one is a local one too", Retention{Keep: 1},
			[]Kept{at(1, storage.Local, false), at(2, storage.Partner, false), at(3, storage.XOR, false)}, Prunable{Everywhere: ids(1, 2)}},
		{"what is at home leaves the nodes", Retention{Keep: 1},
			[]Kept{at(1, storage.Partner, true), at(2, storage.Partner, false)}, Prunable{Nodes: ids(1)}},
		{"and the home too", Retention{Keep: 1},
			[]Kept{at(1, storage.Level{}, true), at(2, storage.Partner, true), at(3, storage.Partner, false)}, Prunable{Everywhere: ids(1), Nodes: ids(2)}},
		{"what is to be copied stays", Retention{Keep: 1},
			[]Kept{{Entry: whole(1), Reached: storage.LevelsOf(storage.Partner), Pending: true}, at(2, storage.Partner, false)}, Prunable{}},
		{"but not all of it", Retention{Keep: 1},
			[]Kept{pending(1), pending(2), pending(3), pending(4), at(5, storage.Partner, false)}, Prunable{Everywhere: ids(2, 3)}},
		{"nor what is older than what is there", Retention{Keep: 1},
			[]Kept{pending(1), at(2, storage.Partner, true), pending(3), at(4, storage.Partner, false)}, Prunable{Everywhere: ids(1), Nodes: ids(2)}},
		{"what is referred to stays", Retention{Keep: 1},
			[]Kept{at(1, storage.Partner, false), at(2, storage.Partner, false), at(3, storage.Partner, false), {Entry: whole(4), Reached: storage.LevelsOf(storage.Partner), Oldest: 2}}, Prunable{Everywhere: ids(1)}},
		{"at its own place", Retention{Keep: 1},
			[]Kept{at(1, storage.Partner, true), {Entry: whole(2), Reached: storage.LevelsOf(storage.Partner), Home: true, Oldest: 1}, at(3, storage.Partner, false)}, Prunable{Nodes: ids(1, 2)}},
		{"also where it should be, but is not", Retention{Keep: 1},
			[]Kept{at(1, storage.Partner, false), {Entry: whole(2), Reached: storage.LevelsOf(storage.Partner), Home: true, Oldest: 1}, at(3, storage.Partner, false)}, Prunable{Nodes: ids(2)}},
		{"damaged ones do not count", Retention{Keep: 1, Damaged: ids(3)},
			[]Kept{at(1, storage.Partner, false), at(2, storage.Partner, false), at(3, storage.Partner, false)}, Prunable{Everywhere: ids(1)}},
		{"nor do they go before others are kept", Retention{Keep: 2, Damaged: ids(2)},
			[]Kept{at(1, storage.Partner, false), at(2, storage.Partner, false), at(3, storage.Partner, false)}, Prunable{}},
		{"without enough others nothing goes", Retention{Keep: 3, Damaged: ids(1)},
			[]Kept{at(1, storage.Partner, false), at(2, storage.Partner, false)}, Prunable{}},
		{"what was read back stays", Retention{Keep: 1, Verified: storage.ID{Version: 1}},
			[]Kept{at(1, storage.Partner, false), at(2, storage.Partner, false), at(3, storage.Partner, false)}, Prunable{Everywhere: ids(2)}},
		{"two chains stay", Retention{Keep: 2},
			[]Kept{at(1, storage.Local, false), at(2, storage.Local, false), refers(3, 2), refers(4, 2), refers(5, 2)}, Prunable{}},
		{"of that before the last version, with what it needs", Retention{Keep: 2},
			[]Kept{at(1, storage.Local, false), at(2, storage.Local, false), refers(3, 2), refers(4, 2), at(5, storage.Local, false), refers(6, 5), refers(7, 5)}, Prunable{Everywhere: ids(1)}},
		{"until the present one is that before", Retention{Keep: 2},
			[]Kept{at(1, storage.Local, false), at(2, storage.Local, false), refers(3, 2), at(4, storage.Local, false), refers(5, 4), at(6, storage.Local, false), refers(7, 6), refers(8, 6)}, Prunable{Everywhere: ids(1, 2, 3)}},
		{"one version is one chain", Retention{Keep: 1},
			[]Kept{at(1, storage.Local, false), at(2, storage.Local, false), refers(3, 2)}, Prunable{Everywhere: ids(1)}},
		{"each level has its own", Retention{Keep: 2},
			[]Kept{at(1, storage.Partner, false), at(2, storage.Partner, false), refers(3, 2), refers(4, 2), refers(5, 2)}, Prunable{}},
		{"another run needs nothing of this one", Retention{Keep: 2},
			[]Kept{at(1, storage.Local, false), at(2, storage.Local, false), {Entry: storage.Entry{ID: storage.ID{Version: 3, Attempt: container.AttemptID{1}}, Parts: []storage.Part{{Rank: 0, Size: 1}}}, Reached: storage.LevelsOf(storage.Local)}, {Entry: storage.Entry{ID: storage.ID{Version: 4, Attempt: container.AttemptID{1}}, Parts: []storage.Part{{Rank: 0, Size: 1}}}, Reached: storage.LevelsOf(storage.Local), Oldest: 3}},
			Prunable{Everywhere: ids(1)}},
		{"what is not complete is not touched while it is new", Retention{Keep: 1},
			[]Kept{at(1, storage.Partner, false), {Entry: storage.Entry{ID: storage.ID{Version: 2}, Parts: []storage.Part{{Rank: 0, Size: 2}}}, Reached: storage.LevelsOf(storage.Local)}}, Prunable{}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, c.policy.Prunable(levels, c.versions)) })
	}
}
