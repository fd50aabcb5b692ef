package placement

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// A version that spilled but refers to one that is on a node alone is not safe at
// home: what it refers to stays on the node, and it is flushed if it is due.
func TestSpilledVersionKeepsItsBase(t *testing.T) {
	s := newRegister(&nodes{list: []manifest.Node{{Ranks: []int{0}}}, of: []int{0}}, 0)
	part := storage.Part{Rank: 0, Size: 1}
	id := func(attempt byte, version uint64) storage.ID {
		return storage.ID{Version: version, Attempt: container.AttemptID{attempt}}
	}
	base, spilled := id(1, 1), id(1, 2)
	s.cat.Add(storage.ObjectKey{ID: base, Kind: storage.KindPart, Part: part}, 0)
	s.cat.SetFacts(base, catalog.Facts{Plan: storage.LevelsOf(storage.Local)})
	s.cat.AddPart(spilled, part, catalog.Home)
	s.cat.SetFacts(spilled, catalog.Facts{Plan: storage.LevelsOf(storage.Local), Oldest: 1})
	entry := func(id storage.ID) storage.Entry { return storage.Entry{ID: id, Parts: []storage.Part{part}} }
	newer := catalog.Kept{Entry: entry(id(2, 3)), Reached: storage.LevelsOf(storage.Local)}
	retention := catalog.Retention{Keep: 2}

	require.Equal(t, catalog.Kept{Entry: entry(spilled), Reached: storage.LevelsOf(storage.Local), Oldest: 1}, s.kept(spilled))
	require.Empty(t, retention.Prunable([]storage.Level{storage.Local}, []catalog.Kept{s.kept(base), s.kept(spilled), newer}))

	s.cat.AddPart(base, part, catalog.Home)
	require.Equal(t, catalog.Kept{Entry: entry(spilled), Home: true, Oldest: 1}, s.kept(spilled))
	newest := catalog.Kept{Entry: entry(id(2, 4)), Reached: storage.LevelsOf(storage.Local)}
	prunable := retention.Prunable([]storage.Level{storage.Local}, []catalog.Kept{s.kept(base), s.kept(spilled), newer, newest})
	require.Equal(t, catalog.Prunable{Nodes: []storage.ID{base}}, prunable)
}

// What is at home makes an older flush superfluous only if all that it refers to is
// there too.
func TestResumeOfWhatASpilledVersionFollows(t *testing.T) {
	s := newRegister(&nodes{list: []manifest.Node{{Ranks: []int{0}}}, of: []int{0}}, 0)
	part := storage.Part{Rank: 0, Size: 1}
	due, spilled := storage.ID{Version: 1}, storage.ID{Version: 2}
	s.cat.Add(storage.ObjectKey{ID: due, Kind: storage.KindPart, Part: part}, 0)
	s.cat.SetFacts(due, catalog.Facts{Plan: storage.LevelsOf(storage.Local, storage.PFS)})
	s.cat.AddPart(spilled, part, catalog.Home)
	s.cat.SetFacts(spilled, catalog.Facts{Plan: storage.LevelsOf(storage.Local), Oldest: 1})
	require.Equal(t, due, s.unfinished())
}

// Names of nodes may begin alike.
func TestMissingNodesAreNamed(t *testing.T) {
	local, err := nodelocal.New(nodelocal.Config{Root: "/nodes/node-1", Name: "cp", Home: "/home/cp"})
	require.NoError(t, err)
	place := filepath.Base(local.Dir())
	n := &nodes{}
	for _, dir := range []string{"/nodes/node-1", "/nodes/node-2"} {
		n.list = append(n.list, manifest.Node{Host: "h", Dir: osstring.String(filepath.Join(dir, place))})
	}
	s := &Absence{nodes: n, register: newRegister(n, 0)}
	told := manifest.New("1")
	for _, dir := range []string{"/nodes/node-1", "/nodes/node-10", "/nodes/node-2"} {
		told.Nodes = append(told.Nodes, manifest.Node{Host: "h", Dir: osstring.String(filepath.Join(dir, place))})
	}
	told.Nodes = append(told.Nodes, manifest.Node{Host: "g", Dir: osstring.String("/nodes/node-2/" + place)})
	s.manifest = manifest.NewWriter(told, true)
	require.Equal(t, "its parts are on none of the nodes of this job; not in this job: h (/nodes/node-10/"+place+"), g (/nodes/node-2/"+place+"): start it on nodes that include them, virtual nodes of one host with --nodes 11 (and no fewer ranks: a node without one is not looked at)",
		s.whatIsMissing(storage.ID{}))
}

// What a rank remembers of the versions of a job does not grow with their number;
// what is yet to be flushed it does not forget.
func TestInventoryStaysSmall(t *testing.T) {
	r := newRegister(&nodes{me: 1}, 0)
	o := commands{reports: make(map[report]int)}
	known := func(id storage.ID) bool { _, ok := r.cat.Facts(id); return ok }
	pending := storage.ID{Version: 7}
	isPending := func(id storage.ID) bool { return id == pending }
	write := func(v, oldest uint64) {
		id := storage.ID{Version: v}
		r.cat.SetFacts(id, catalog.Facts{Plan: storage.LevelsOf(storage.Local)})
		r.cat.AddPart(id, storage.Part{Rank: 1, Size: 8}, 0)
		r.noteSent(id)
		o.reports[report{verbFlushed, id}] = 1
		for _, old := range r.outdated(id, oldest, isPending) {
			r.forget(old)
			o.forget(old)
		}
	}
	for v := uint64(1); v <= 100; v++ {
		oldest := uint64(0)
		if v%5 != 0 { // it refers to versions since the last full one
			oldest = v - v%5
		}
		write(v, oldest)
		for base := max(oldest, 1); oldest > 0 && base <= v; base++ {
			require.True(t, known(storage.ID{Version: base}), "version %d refers to %d", v, base)
		}
		require.LessOrEqual(t, len(r.cat.IDs()), 6)
		require.LessOrEqual(t, max(len(r.notes), len(o.reports)), 6)
	}
	require.True(t, known(storage.ID{Version: 7}))
	pending = storage.ID{}
	write(101, 0)
	require.False(t, known(storage.ID{Version: 7}))
}

// Whoever has worked on a version that was deleted meanwhile, and notes that nothing is wrong
// with it, leaves nothing of it.
func TestNothingIsNotedOfWhatIsDeleted(t *testing.T) {
	r := newRegister(&nodes{list: []manifest.Node{{Ranks: []int{0}}}, of: []int{0}}, 0)
	id := storage.ID{Version: 1}
	key := storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: storage.Part{Rank: 0, Size: 1}}
	r.noteTorn(&catalog.Source{Key: key, At: 0})
	require.True(t, r.notes[id].tornCopy)
	r.forget(id)
	r.note(id, func(about *note) { about.tornCopy = false })
	r.noteTorn(&catalog.Source{Key: catalog.PartOf(id, key.Part), At: 1}) // not the file that is here
	require.Empty(t, r.notes)
}
