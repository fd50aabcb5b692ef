package storage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWaste(t *testing.T) {
	whole := func(n uint64) Entry { return Entry{ID: ID{Version: n}, Parts: []Part{{0, 1}}} }
	at := func(n uint64, level Level, home bool) Kept { return Kept{Entry: whole(n), Level: level, Home: home} }
	pending := func(n uint64) Kept { return Kept{Entry: whole(n), Level: Partner, Pending: true} }
	ids := func(numbers ...uint64) (out []ID) {
		for _, n := range numbers {
			out = append(out, ID{Version: n})
		}
		return out
	}
	levels := []Level{Local, Partner}
	for _, c := range []struct {
		name     string
		policy   Retention
		versions []Kept
		want     Waste
	}{
		{"nothing", Retention{Keep: 1}, nil, Waste{}},
		{"the last safe one stays", Retention{Keep: 1},
			[]Kept{at(1, Partner, false), at(2, Local, false), at(3, Local, false)}, Waste{Everywhere: ids(2)}},
		{"a safer one is a local one too", Retention{Keep: 1},
			[]Kept{at(1, Local, false), at(2, Partner, false), at(3, XOR, false)}, Waste{Everywhere: ids(1, 2)}},
		{"what is at home leaves the nodes", Retention{Keep: 1},
			[]Kept{at(1, Partner, true), at(2, Partner, false)}, Waste{Nodes: ids(1)}},
		{"and the home too", Retention{Keep: 1},
			[]Kept{at(1, Captured, true), at(2, Partner, true), at(3, Partner, false)}, Waste{Everywhere: ids(1), Nodes: ids(2)}},
		{"what is to be copied stays", Retention{Keep: 1},
			[]Kept{{Entry: whole(1), Level: Partner, Pending: true}, at(2, Partner, false)}, Waste{}},
		{"but not all of it", Retention{Keep: 1},
			[]Kept{pending(1), pending(2), pending(3), pending(4), at(5, Partner, false)}, Waste{Everywhere: ids(2, 3)}},
		{"nor what is older than what is there", Retention{Keep: 1},
			[]Kept{pending(1), at(2, Partner, true), pending(3), at(4, Partner, false)}, Waste{Everywhere: ids(1), Nodes: ids(2)}},
		{"what is referred to stays", Retention{Keep: 1},
			[]Kept{at(1, Partner, false), at(2, Partner, false), at(3, Partner, false), {Entry: whole(4), Level: Partner, Oldest: 2}}, Waste{Everywhere: ids(1)}},
		{"at its own place", Retention{Keep: 1},
			[]Kept{at(1, Partner, true), {Entry: whole(2), Level: Partner, Home: true, Oldest: 1}, at(3, Partner, false)}, Waste{Nodes: ids(1, 2)}},
		{"also where it should be, but is not", Retention{Keep: 1},
			[]Kept{at(1, Partner, false), {Entry: whole(2), Level: Partner, Home: true, Oldest: 1}, at(3, Partner, false)}, Waste{Nodes: ids(2)}},
		{"damaged ones do not count", Retention{Keep: 1, Damaged: ids(3)},
			[]Kept{at(1, Partner, false), at(2, Partner, false), at(3, Partner, false)}, Waste{Everywhere: ids(1)}},
		{"nor do they go before others are kept", Retention{Keep: 2, Damaged: ids(2)},
			[]Kept{at(1, Partner, false), at(2, Partner, false), at(3, Partner, false)}, Waste{}},
		{"without enough others nothing goes", Retention{Keep: 3, Damaged: ids(1)},
			[]Kept{at(1, Partner, false), at(2, Partner, false)}, Waste{}},
		{"what was read back stays", Retention{Keep: 1, Verified: ID{Version: 1}},
			[]Kept{at(1, Partner, false), at(2, Partner, false), at(3, Partner, false)}, Waste{Everywhere: ids(2)}},
		{"what is not complete is not touched while it is new", Retention{Keep: 1},
			[]Kept{at(1, Partner, false), {Entry: Entry{ID: ID{Version: 2}, Parts: []Part{{0, 2}}}, Level: Local}}, Waste{}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, c.policy.Waste(levels, c.versions)) })
	}
}
