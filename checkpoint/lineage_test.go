package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
)

// worlds calls f for jobs of one rank and of several, without and with levels.
func worlds(t *testing.T, f func(t *testing.T, n *testNodes, levels string)) {
	for _, w := range []struct {
		of     []int
		levels []string
	}{{[]int{0}, []string{"", "local"}}, {[]int{0, 1, 2}, []string{"", "partner,pfs"}}} {
		for _, levels := range sample(t, w.levels, 1) {
			t.Run(fmt.Sprintf("%d ranks, levels %q", len(w.of), levels), func(t *testing.T) {
				f(t, newTestNodes(t, w.of...), levels)
			})
		}
	}
}

// everywhere are all files of a version, at home and on the nodes.
func (n *testNodes) allFiles(t *testing.T, version int) []string {
	return append(n.files(t, version, ""), n.flushed(t, version, "")...)
}

// removeMetadata removes files beside the versions, by patterns of their names.
func (n *testNodes) removeMetadata(t *testing.T, names ...string) {
	for _, name := range names {
		for _, file := range glob(t, filepath.Join(n.dir, "pfs", "grid", name)) {
			require.NoError(t, os.Remove(file))
		}
	}
}

func damageHeader(t *testing.T, files []string, empty bool) {
	t.Helper()
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		data[40] ^= 1
		if empty {
			data = nil
		}
		require.NoError(t, os.WriteFile(file, data, 0o600))
	}
}

var freshStart = WithReadOnRestart(false)

// An abandoned computation does not come back when the headers of the only version of
// the new one are damaged.
func TestAbandonedComputationStaysAbandoned(t *testing.T) {
	for _, empty := range []bool{false, true} {
		worlds(t, func(t *testing.T, n *testNodes, levels string) {
			n.job(t, levels, 3, none)
			n.job(t, levels, 1, none, freshStart)
			damageHeader(t, n.allFiles(t, 4), empty)
			_, err := n.try(t, levels, 5, none)
			require.ErrorIs(t, err, ErrNoUsableVersion)
			require.ErrorIs(t, err, storage.ErrDamaged)
			require.NotEmpty(t, n.allFiles(t, 3), "the older computation")
		})
	}
}

// Nothing tells what the damaged version belongs to: somebody has to.
func TestComputationOfADamagedVersionIsNotKnown(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.job(t, levels, 3, none)
		n.job(t, levels, 1, none, freshStart, func(o *options) { o.Record = false })
		damageHeader(t, n.allFiles(t, 4), true)
		n.removeMetadata(t, filestore.LatestName)
		if levels != "" {
			note := n.manifest(t)
			note.Newest = nil
			n.write(t, note)
		}
		_, err := n.try(t, levels, 5, none)
		require.ErrorIs(t, err, ErrNoUsableVersion)
		require.ErrorContains(t, err, "nothing reports whether it continues the computation of version 3")
		// What the message says helps.
		for _, v := range glob(t, filepath.Join(n.dir, "*", "grid*", "v-000004-*")) {
			require.NoError(t, os.RemoveAll(v))
		}
		require.Contains(t, n.job(t, levels, 5, none), "version=3 iteration=2")
	})
}

// A damaged version of the same computation is set aside as ever, also if only another
// version, or only a file beside them, tells what it belongs to.
func TestComputationOfADamagedVersionIsKnown(t *testing.T) {
	for name, notes := range map[string][]string{
		"by another version": {filestore.LatestName, filestore.RecordPrefix + "*"},
		"by the record":      {filestore.LatestName},
		"by the note":        {filestore.RecordPrefix + "*"},
	} {
		worlds(t, func(t *testing.T, n *testNodes, levels string) {
			n.job(t, levels, 3, none)
			damageHeader(t, n.allFiles(t, 3), true)
			n.removeMetadata(t, notes...)
			require.Contains(t, n.job(t, levels, 4, none), "version=2 iteration=1", name)
		})
	}
}

// removeVersion removes a version by hand, wherever it is.
func (n *testNodes) removeVersion(t *testing.T, version int) {
	found := glob(t, filepath.Join(n.dir, "*", "grid*", fmt.Sprintf("v-%06d-*", version)))
	require.NotEmpty(t, found)
	for _, dir := range found {
		require.NoError(t, os.RemoveAll(dir))
	}
}

// A version that something tells of and that is gone is said loudly, and what is
// written then is newer than it.
func TestNewestVersionIsGone(t *testing.T) {
	for name, notes := range map[string][]string{
		"all tell":   nil,
		"the record": {filestore.LatestName},
		"the note":   {filestore.RecordPrefix + "*"},
	} {
		worlds(t, func(t *testing.T, n *testNodes, levels string) {
			n.job(t, levels, 3, none)
			n.removeVersion(t, 3)
			n.removeMetadata(t, notes...)
			log := n.job(t, levels, 3, none)
			require.Contains(t, log, "the newest version is not used", name)
			require.Contains(t, log, "v-000003-")
			require.Contains(t, log, "version=2 iteration=1")
			require.NotEmpty(t, n.allFiles(t, 4), name)
		})
	}
}

// Without any other version the program does not start from zero.
func TestOnlyVersionIsGone(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.job(t, levels, 1, none)
		n.removeVersion(t, 1)
		_, err := n.try(t, levels, 3, none)
		require.ErrorIs(t, err, ErrNoUsableVersion)
		require.ErrorContains(t, err, "v-000001-")
		require.ErrorContains(t, err, "CRAFT_READ_CP_ON_RESTART=0")
		n.job(t, levels, 1, none, freshStart)
		require.NotEmpty(t, n.allFiles(t, 2), "the number is used again")
	})
}

// The new computation's only version is gone: the abandoned one is not resumed.
func TestNewComputationIsGone(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.job(t, levels, 3, none)
		n.job(t, levels, 1, none, freshStart)
		n.removeVersion(t, 4)
		_, err := n.try(t, levels, 5, none)
		require.ErrorIs(t, err, ErrNoUsableVersion)
		require.ErrorContains(t, err, "v-000004-")
	})
}

// The newest versions were away when a run went on from an older one. Back again they
// are the other branch: that which was written last is the newest.
func TestBranchThatWasWrittenLast(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.job(t, levels, 5, none, WithKeep(3))
		disk := t.TempDir()
		var back []func()
		for _, version := range []int{4, 5} {
			for i, dir := range glob(t, filepath.Join(n.dir, "*", "grid*", fmt.Sprintf("v-%06d-*", version))) {
				away := filepath.Join(disk, fmt.Sprint(version, i))
				require.NoError(t, os.Rename(dir, away))
				back = append(back, func() { require.NoError(t, os.Rename(away, dir)) })
			}
		}
		require.Contains(t, n.job(t, levels, 4, none, WithKeep(3)), "version=3 iteration=2")
		require.NotEmpty(t, n.allFiles(t, 6), "it goes on behind what was away")
		for _, b := range back {
			b()
		}
		log := n.job(t, levels, 4, none, WithKeep(3))
		require.Contains(t, log, "version=6 iteration=3")
		require.Contains(t, log, "another branch")
		require.Contains(t, log, "v-000004-")
		require.Contains(t, log, "v-000005-")
		for until := 6; until <= 9; until++ { // a flush that is late on a busy machine leaves versions out
			require.NotContains(t, n.job(t, levels, until, flushedFirst, WithKeep(3)), "another branch that", "once")
		}
		require.NotContains(t, n.job(t, levels, 9, none, WithKeep(3)), "another branch", "they are deleted by now")
	})
}

// If nothing of that branch can be read it is the branch's origin that is used before
// the other branch is.
func TestBranchIsDamaged(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.job(t, levels, 5, none, WithKeep(3))
		disk := filepath.Join(t.TempDir(), "disk")
		require.NoError(t, os.CopyFS(disk, os.DirFS(n.dir)))
		n.removeVersion(t, 5)
		n.removeVersion(t, 4)
		n.job(t, levels, 4, none, WithKeep(3))
		for _, version := range []int{4, 5} {
			for _, dir := range glob(t, filepath.Join(disk, "*", "grid*", fmt.Sprintf("v-%06d-*", version))) {
				rel, err := filepath.Rel(disk, dir)
				require.NoError(t, err)
				require.NoError(t, os.CopyFS(filepath.Join(n.dir, rel), os.DirFS(dir)))
			}
		}
		damageHeader(t, n.allFiles(t, 6), true)
		require.Contains(t, n.job(t, levels, 3, none, WithKeep(3)), "version=3 iteration=2")
	})
}

// A backup of the home was put back while the nodes were absent, and a run without them
// has gone on. When they come back their versions have higher numbers, which that run
// could not know, and are older all the same.
func TestOldBackupOfTheHome(t *testing.T) {
	ofData(t)
	for _, fresh := range []bool{false, true} { // the run that goes on begins anew
		for _, levels := range []string{"", "partner,pfs:1000"} { // of the run without the nodes
			for _, again := range sample(t, []bool{false, true}, 2) { // a run after that dies before it has written anything
				t.Run(fmt.Sprintf("fresh=%v levels=%q again=%v", fresh, levels, again), func(t *testing.T) {
					n := newTestNodes(t, 0, 1)
					n.job(t, "partner,pfs:1000", 3, flushedFirst)
					home, backup := filepath.Join(n.dir, "pfs"), filepath.Join(t.TempDir(), "backup")
					require.NoError(t, os.CopyFS(backup, os.DirFS(home)))
					n.killed(t, "partner,pfs:1000", 120, none) // more than what is reserved
					require.NoError(t, os.RemoveAll(home))
					require.NoError(t, os.CopyFS(home, os.DirFS(backup)))
					n.of = []int{4, 5}
					n.job(t, levels, 6, none, WithReadOnRestart(!fresh))
					n.of = []int{0, 1, 4, 5}
					if again {
						n.killed(t, "partner,pfs:1000", 0, none)
					}
					log := n.job(t, "partner,pfs:1000", 7, flushedFirst)
					require.Contains(t, log, "iteration=5 ")
					require.Contains(t, log, "another branch")
					require.Contains(t, n.job(t, "partner,pfs:1000", 8, none), "iteration=6 ")
				})
			}
		}
	}
}

// The same for the first version of a run that was killed: its record only tells that it
// began.
func TestComputationOfAKilledRunIsKnown(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.job(t, levels, 3, none)
		n.killed(t, levels, 4, none)
		damageHeader(t, n.allFiles(t, 4), true)
		n.removeMetadata(t, filestore.LatestName)
		require.Contains(t, n.job(t, levels, 4, none), "version=3 iteration=2")
	})
}

// A fresh start does not write over another problem's versions because the header of the
// newest one is damaged.
func TestFreshStartAndADamagedHeader(t *testing.T) {
	n := newTestNodes(t, 0)
	n.job(t, "", 3, none, WithFingerprint("one"))
	damageHeader(t, n.allFiles(t, 3), false)
	_, err := n.try(t, "", 1, none, freshStart, WithFingerprint("another"))
	require.ErrorIs(t, err, ErrFingerprint)
}

// Notes that are nonsense raise no alarm, and numbers that no program reaches are refused
// with the name of the file.
func TestNonsenseBesideTheVersions(t *testing.T) {
	n := newTestNodes(t, 0)
	n.job(t, "", 3, none)
	latest := filepath.Join(n.dir, "pfs", "grid", filestore.LatestName)
	for _, text := range []string{"", "{", "null", `{"directory": "v-1"}`, `{"directory": "../x", "lineage": "zz", "version": 99}`} {
		require.NoError(t, os.WriteFile(latest, []byte(text), 0o600))
		require.NotContains(t, n.job(t, "", 0, none), "level=WARN", text)
	}
	for _, number := range []string{"18446744073709551615", "18446744073709551614"} {
		require.NoError(t, os.WriteFile(latest, []byte(`{"directory": "v-`+number+`-0123456789abcdef"}`), 0o600))
		_, err := n.try(t, "", 4, none)
		require.ErrorContains(t, err, filestore.LatestName, number)
	}
}

// The directory was moved away, a new computation has begun at zero and written, and then
// the old versions, with higher numbers, are put back beside its own.
func TestOldComputationIsPutBackOverANewOne(t *testing.T) {
	for _, everything := range []bool{false, true} { // with the notes, over the new ones
		for _, records := range []bool{false, true} {
			t.Run(fmt.Sprintf("everything=%v records=%v", everything, records), func(t *testing.T) {
				if everything && !records {
					t.Skip("nothing tells which one was written last")
				}
				n, old := newTestNodes(t, 0), filepath.Join(t.TempDir(), "old")
				home, record := filepath.Join(n.dir, "pfs", "grid"), func(o *options) { o.Record = records }
				n.job(t, "", 5, none, record)
				require.NoError(t, os.Rename(home, old))
				require.NotContains(t, n.job(t, "", 2, none, record), "restored")
				pattern := "v-*"
				if everything {
					pattern = "*"
				}
				for _, from := range glob(t, filepath.Join(old, pattern)) {
					to := filepath.Join(home, filepath.Base(from))
					require.NoError(t, os.RemoveAll(to))
					require.NoError(t, os.Rename(from, to))
				}
				_, err := n.try(t, "", 5, none, record, WithStrict())
				require.ErrorIs(t, err, ErrStrict)
				log := n.job(t, "", 5, none, record)
				require.Contains(t, log, "another branch")
				require.Contains(t, log, "v-000002-")
				require.Contains(t, log, "version=5 iteration=4")
				n.job(t, "", 9, none, record)
				require.NotContains(t, n.job(t, "", 10, none, record), "another branch", "they are deleted by now")
			})
		}
	}
}

// No such alarm is raised by a new computation of which no note tells yet.
func TestNewComputationIsNotTakenForAnOldOne(t *testing.T) {
	n := newTestNodes(t, 0)
	n.job(t, "", 3, none, WithKeep(5))
	home := filepath.Join(n.dir, "pfs", "grid")
	latest, err := os.ReadFile(filepath.Join(home, filestore.LatestName))
	require.NoError(t, err)
	n.job(t, "", 2, none, WithKeep(5), freshStart)
	require.NoError(t, os.WriteFile(filepath.Join(home, filestore.LatestName), latest, 0o600))
	require.NotContains(t, n.job(t, "", 3, none, WithKeep(5), WithStrict()), "another branch")
}

// Nothing tells of the lineage of what the home has, and the nodes have versions that it
// does not know of: these are of another one.
func TestLineageOfTheHomeIsNotKnown(t *testing.T) {
	known := container.LineageID{1}
	home := catalog.Candidate{ID: storage.ID{Version: 3, Attempt: container.AttemptID{3}}}
	onNodes := catalog.Candidate{ID: storage.ID{Version: 5, Attempt: container.AttemptID{5}}, Known: true, Lineage: &known}
	same, older, certain := catalog.NewestLineage([]catalog.Candidate{home}, []catalog.Candidate{onNodes}, catalog.Told{}, nil)
	require.Equal(t, []catalog.Candidate{home}, same)
	require.Equal(t, 1, older)
	require.Zero(t, certain)
}
