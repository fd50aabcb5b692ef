package catalog

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

func of(attempt byte, n uint64) storage.ID {
	return storage.ID{Version: n, Attempt: container.AttemptID{attempt}}
}

// Marked versions stay with what they refer to, and count for nothing; what was passed over stays
// until enough of the branch is there.
func TestRetentionOfMarksAndBranches(t *testing.T) {
	whole := func(n, oldest uint64) Kept {
		return Kept{Entry: storage.Entry{ID: of(1, n), Parts: []storage.Part{{Rank: 0, Size: 1}}}, Home: true, Oldest: oldest}
	}
	full := func(numbers ...uint64) (all []Kept) {
		for _, n := range numbers {
			all = append(all, whole(n, 0))
		}
		return all
	}
	ids := func(numbers ...uint64) (all []storage.ID) {
		for _, n := range numbers {
			all = append(all, of(1, n))
		}
		return all
	}
	marks := func(numbers ...uint64) (all []storage.Mark) {
		for _, n := range numbers {
			all = append(all, storage.Mark{ID: of(1, n)})
		}
		return all
	}
	onNode := whole(1, 0)
	onNode.Home, onNode.Reached = false, storage.LevelsOf(storage.Local)
	for _, c := range []struct {
		name     string
		policy   Retention
		versions []Kept
		want     Prunable
	}{
		{"a marked one stays", Retention{Keep: 1, Marks: marks(1)}, full(1, 2, 3), Prunable{Everywhere: ids(2)}},
		{"and does not count", Retention{Keep: 2, Marks: marks(3)}, full(1, 2, 3), Prunable{}},
		{"nor the newest", Retention{Keep: 1, Marks: marks(4)}, full(1, 2, 3, 4), Prunable{Everywhere: ids(1, 2)}},
		{"all are marked", Retention{Keep: 1, Marks: marks(1, 2, 3)}, full(1, 2, 3), Prunable{}},
		{"what it refers to stays", Retention{Keep: 1, Marks: marks(4)}, []Kept{whole(1, 0), whole(2, 0), whole(3, 2), whole(4, 2), whole(5, 0)}, Prunable{Everywhere: ids(1)}},
		{"a damaged one stays too", Retention{Keep: 1, Marks: marks(1), Damaged: ids(1)}, full(1, 2, 3), Prunable{Everywhere: ids(2)}},
		{"on the nodes as well", Retention{Keep: 1, Marks: marks(1)}, append([]Kept{onNode}, full(2, 3)...), Prunable{Everywhere: ids(2)}},
		{"what was passed over stays at first", Retention{Keep: 2, Passed: ids(4, 5)}, full(3, 4, 5, 6), Prunable{}},
		{"until there are enough", Retention{Keep: 2, Passed: ids(4, 5)}, full(3, 4, 5, 6, 7), Prunable{Everywhere: ids(3, 4, 5)}},
		{"the first does, if one is kept", Retention{Keep: 1, Passed: ids(4, 5)}, full(3, 4, 5, 6), Prunable{Everywhere: ids(3, 4, 5)}},
		{"but for what is marked", Retention{Keep: 1, Passed: ids(4, 5), Marks: marks(4)}, full(3, 4, 5, 6), Prunable{Everywhere: ids(3, 5)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, c.policy.Prunable([]storage.Level{storage.Local}, c.versions))
		})
	}
}

// Whatever is written, marked, gone back to and pruned: what is marked is there with all that
// it refers to, and so are as many of the branch as are kept.
func TestRandomRetentionOfMarksAndBranches(t *testing.T) {
	rng := testseed.Rand(t)
	for range 300 {
		var vs Versions
		keep := 1 + rng.IntN(3)
		var marks []storage.Mark
		passed := make(map[storage.ID]bool)
		var number, full uint64
		for range 60 {
			switch what := rng.IntN(10); {
			case what < 6:
				number++
				k := Kept{Entry: storage.Entry{ID: of(1, number), Parts: []storage.Part{{Rank: 0, Size: 1}}}, Home: true}
				if full > 0 && rng.IntN(3) > 0 {
					k.Oldest = full
				} else {
					full = number
				}
				vs.Add(k, container.Header{Version: number})
			case len(vs.list) == 0:
			case what < 8:
				v := vs.list[rng.IntN(len(vs.list))]
				marks = append(marks, storage.Mark{ID: v.ID, Oldest: v.Oldest})
			case what == 8 && len(marks) > 0:
				marks = slices.Delete(marks, 0, 1)
			default: // back to one of those that are there
				to := rng.IntN(len(vs.list))
				for _, v := range vs.list[to+1:] {
					vs.PassOver(v.ID)
					passed[v.ID] = true
				}
				full = 0
			}
			before := slices.Clone(vs.list)
			vs.SetMarks(marks)
			vs.Prune(keep, nil)
			counted := 0
			for _, v := range slices.Backward(before) {
				marked := slices.ContainsFunc(marks, func(m storage.Mark) bool { return m.Keeps(v.ID) })
				own := slices.ContainsFunc(marks, func(m storage.Mark) bool { return m.ID == v.ID })
				counts := !own && !passed[v.ID]
				there := vs.Find(v.ID) != nil
				require.True(t, there || !marked, "%v is marked, or referred to by what is", v.ID)
				require.True(t, there || counted >= keep, "%v is gone, and only %d of the branch are newer", v.ID, counted)
				if counts {
					counted++
				}
			}
			for _, v := range vs.list {
				for n := v.Oldest; n != 0 && n < v.ID.Version; n++ {
					was := slices.ContainsFunc(before, func(b Version) bool { return b.ID == of(1, n) })
					require.True(t, !was || vs.Find(of(1, n)) != nil, "%v is there without %d", v.ID, n)
				}
			}
			require.LessOrEqual(t, superfluous(vs.list, marks, passed, keep), 1, "beside one that needs none of the others")
		}
	}
}

// superfluous counts what nothing keeps.
func superfluous(list []Version, marks []storage.Mark, passed map[storage.ID]bool, keep int) (n int) {
	counted := 0
	for _, v := range slices.Backward(list) {
		needed := slices.ContainsFunc(marks, func(m storage.Mark) bool { return m.Keeps(v.ID) }) ||
			slices.ContainsFunc(list, func(o Version) bool { return refers(o.ID, o.Oldest, v.ID) })
		if counted >= keep && !needed {
			n++
		}
		if !passed[v.ID] && !slices.ContainsFunc(marks, func(m storage.Mark) bool { return m.ID == v.ID }) {
			counted++
		}
	}
	return n
}

// A version that is no way back's any more decides.
func TestWayBackInEffect(t *testing.T) {
	a, b, anew := container.LineageID{1}, storage.BranchID{7}, container.LineageID{9}
	known := func(id storage.ID, branch storage.BranchID, lineage container.LineageID) Candidate {
		return Candidate{ID: id, Known: true, Lineage: &lineage, Branch: branch}
	}
	note := storage.NewWayBack(b, of(1, 3), storage.Target{Version: 3}, "craft restore", nil)
	record := func(attempt byte, branch storage.BranchID) storage.Record {
		text := of(attempt, 1).String()
		return storage.Record{Attempt: text[len(text)-16:], Branch: branch}
	}
	old := []Candidate{known(of(1, 5), storage.BranchID{}, a), known(of(1, 3), storage.BranchID{}, a)}
	for _, c := range []struct {
		name     string
		above    uint64
		complete []Candidate
		told     Told
		anew     *storage.Record
		want     bool
	}{
		{"nobody has taken it", 0, old, Told{}, nil, true},
		{"nothing was written since", 5, old, Told{}, nil, true},
		{"its branch goes on", 5, append([]Candidate{known(of(2, 6), b, a)}, old...), Told{}, nil, true},
		{"of its branch only a name is left", 5, append([]Candidate{{ID: of(2, 6)}}, old...), Told{}, nil, true},
		{"another computation has begun", 5, append([]Candidate{known(of(3, 7), storage.BranchID{}, anew), known(of(2, 6), b, a)}, old...), Told{}, nil, false},
		{"another one has begun and is gone", 5, old, Told{Claims: []Claim{{ID: of(3, 7), Lineage: &anew}}, Runs: []storage.Record{record(3, storage.BranchID{})}}, nil, false},
		{"another one was written before its last version", 5, append([]Candidate{known(of(2, 8), b, a), known(of(3, 7), storage.BranchID{}, anew)}, old...), Told{}, nil, true},
		{"another branch", 5, append([]Candidate{known(of(2, 6), storage.BranchID{8}, a)}, old...), Told{}, nil, false},
		{"one that was begun anew has only nested versions", 5, old, Told{Runs: []storage.Record{record(2, b), record(3, storage.BranchID{})}}, new(storage.Record), false},
		{"and was before it", 5, old, Told{Runs: []storage.Record{record(3, storage.BranchID{}), record(2, b)}}, new(storage.Record), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			note.Above = c.above
			if c.anew != nil {
				*c.anew = record(3, storage.BranchID{})
			}
			w := NewWayBack(note, c.complete, c.told.Runs)
			require.Equal(t, c.want, w.InEffect(c.complete, c.told, c.anew))
		})
	}
}

func TestResolve(t *testing.T) {
	k := int64(30)
	one := func(id storage.ID, iteration int64, other bool, labels ...string) Choice {
		return Choice{ID: id, Complete: true, Iteration: iteration, Other: other, Labels: labels}
	}
	choices := []Choice{
		one(of(1, 1), 10, false, "start"), one(of(1, 2), 20, false), one(of(1, 3), 30, true, "x"), one(of(1, 4), 40, true, "x"),
		one(of(2, 5), 30, false, "y"), one(of(2, 6), 30, false, "y"), one(of(3, 7), 50, true), one(of(4, 7), 50, true), {ID: of(2, 8), Iteration: container.NoIteration},
	}
	for _, c := range []struct {
		name   string
		target storage.Target
		want   storage.ID
		err    string
	}{
		{"by number", storage.Target{Version: 2}, of(1, 2), ""},
		{"of another branch", storage.Target{Version: 4}, of(1, 4), ""},
		{"the newest of the branch", storage.Target{Iteration: &k}, of(2, 6), ""},
		{"by label", storage.Target{Milestone: "start"}, of(1, 1), ""},
		{"by a label that two have", storage.Target{Milestone: "x"}, storage.ID{}, "fits several"},
		{"by a number that two have", storage.Target{Version: 7}, storage.ID{}, of(4, 7).String()},
		{"by name", storage.Target{ID: of(3, 7)}, of(3, 7), ""},
		{"not complete", storage.Target{Version: 8}, storage.ID{}, "is not complete"},
		{"not there", storage.Target{Version: 9}, storage.ID{}, "is not there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			id, err := Resolve(c.target, choices)
			require.Equal(t, c.want, id)
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrTarget)
			require.ErrorContains(t, err, c.err)
		})
	}
	_, err := Resolve(storage.Target{Version: 1}, nil)
	require.ErrorContains(t, err, "there is: nothing")
}

func TestMilestonesAmongCandidates(t *testing.T) {
	list := func(numbers ...uint64) (all []Candidate) {
		for _, n := range numbers {
			all = append(all, Candidate{ID: of(1, n)})
		}
		return all
	}
	marks := func(numbers ...uint64) (all []storage.Mark) {
		for _, n := range numbers {
			all = append(all, storage.Mark{ID: of(1, n)})
		}
		return all
	}
	for _, c := range []struct {
		name  string
		all   []Candidate
		marks []storage.Mark
		own   storage.ID
		lost  bool
		want  int
	}{
		{"none", list(3, 2, 1), nil, storage.ID{}, false, 3},
		{"old ones are no fall-back", list(9, 8, 3, 2), marks(3, 2), storage.ID{}, false, 2},
		{"one between others is", list(9, 8, 7), marks(8), storage.ID{}, false, 3},
		{"the newest is taken", list(9), marks(9), storage.ID{}, false, 1},
		{"unless a newer one is told of", list(9, 8), marks(9, 8), storage.ID{}, true, 0},
		{"where a way back leads to it is meant", list(9, 3), marks(3), of(1, 3), true, 2},
		{"nothing", nil, nil, storage.ID{}, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Len(t, WithoutOldMilestones(c.all, c.marks, c.own, c.lost), c.want)
		})
	}
}

func TestStaleMilestones(t *testing.T) {
	m := func(n uint64, byHand bool) storage.Mark { return storage.Mark{ID: of(1, n), ByHand: byHand} }
	marks := []storage.Mark{m(1, false), m(2, true), m(3, false), m(3, true), m(5, false), m(5, false)}
	require.Equal(t, []storage.Mark{m(3, false), m(1, false)}, Stale(marks, 1))
	require.Equal(t, []storage.Mark{m(1, false)}, Stale(marks, 2))
	require.Empty(t, Stale(marks, 3))
}

// Branches that were passed over have names as long as anything of them is stored.
func TestPassedOver(t *testing.T) {
	known := func(attempt byte, n uint64, origin storage.ID) Candidate {
		return Candidate{ID: of(attempt, n), Known: true, Origin: origin}
	}
	complete := []Candidate{known(2, 7, of(1, 3)), known(2, 6, of(1, 3)), known(1, 5, storage.ID{}), known(1, 4, storage.ID{}), known(1, 3, storage.ID{})}
	o := new(Told).Origins(complete)
	first := PassedOver(complete[2:], o, of(1, 3), nil)
	require.Equal(t, []storage.PassedBranch{{Name: "to-5", Newest: of(1, 5).String()}}, first)
	second := PassedOver(complete, o, of(1, 4), first)
	require.Equal(t, []storage.PassedBranch{{Name: "to-7", Newest: of(2, 7).String()}, first[0]}, second)
	for n, want := range map[uint64]string{3: "to-7", 4: "to-5", 5: "to-5"} {
		require.Equal(t, want, NameOfBranch(o, second, of(1, n)), "%d", n)
	}
	require.Equal(t, "to-7", NameOfBranch(o, second, of(2, 6)))
	require.Empty(t, PassedOver(complete[:2], o, of(2, 7), first), "nothing of it is stored")
}
