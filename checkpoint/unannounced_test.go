package checkpoint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
)

const notKnown = "versions that this directory does not know of"

func (n *testNodes) home() string { return filepath.Join(n.dir, "pfs", "grid") }

// replaceHome puts a directory in the place of the checkpoint's and returns where that is now.
func (n *testNodes) replaceHome(t *testing.T, by string) (before string) {
	before = filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.Rename(n.home(), before))
	require.NoError(t, os.Rename(by, n.home()))
	return before
}

func (n *testNodes) copyHome(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(dir, os.DirFS(n.home())))
	return dir
}

// inACopy runs jobs with a copy of the checkpoint's directory in its place, which is moved
// away behind them, and puts the original back as it was.
func (n *testNodes) inACopy(t *testing.T, jobs func()) (moved string) {
	original := n.replaceHome(t, n.copyHome(t))
	jobs()
	return n.replaceHome(t, original)
}

func records(on bool) Option { return func(o *options) { o.Record = on } }

// What a run has left on the nodes with another copy of the checkpoint's directory, or
// before a backup of it was put back, is not gone on with unless somebody has been told.
func TestCopyOfTheHome(t *testing.T) {
	ofData(t)
	for _, levels := range []string{"local,pfs:1000", "partner"} {
		for _, on := range []bool{true, false} {
			for _, killed := range []bool{false, true} { // what has run before the copy was made
				t.Run(fmt.Sprintf("%s records=%v killed=%v", levels, on, killed), func(t *testing.T) {
					n := newTestNodes(t, 0, 1)
					if killed {
						n.killed(t, levels, 3, none, records(on))
					} else {
						n.job(t, levels, 3, none, records(on))
					}
					variant := n.inACopy(t, func() {
						require.NotContains(t, n.job(t, levels, 6, none, records(on), WithStrict()), notKnown)
						require.NotContains(t, n.job(t, levels, 9, none, records(on), WithStrict()), notKnown)
					})
					for _, policy := range []string{"1", "allow-absent,allow-unclear,allow-unseen,allow-lineage,allow-damaged"} {
						err := n.refused(t, levels, policy, records(on))
						require.ErrorContains(t, err, "branch: v-000009-")
						require.ErrorContains(t, err, "v-000006-", "of another run")
						require.ErrorContains(t, err, n.node(0))
						require.ErrorContains(t, err, n.node(1))
						require.ErrorContains(t, err, n.home())
						require.ErrorContains(t, err, " is gone; ")
					}
					require.Contains(t, n.job(t, levels, 0, none, records(on), WithStrict(AllowBranch, AllowUnseen)), "version=9 iteration=8")
					variant = n.replaceHome(t, variant)
					require.NotContains(t, n.job(t, levels, 11, none, records(on), WithStrict()), notKnown, "it is its own")
					n.replaceHome(t, variant)
					log := n.job(t, levels, 12, none, records(on))
					require.Contains(t, log, notKnown)
					require.Contains(t, log, "version=11 iteration=10")
					require.NotContains(t, n.job(t, levels, 13, none, records(on), WithStrict()), notKnown)
				})
			}
		}
	}
}

// An old backup is put back where the home was, and a run with it has gone on: the nodes
// have what was written since the backup was made.
func TestBackupOfTheHomeIsPutBack(t *testing.T) {
	n := newTestNodes(t, 0, 1)
	n.job(t, "partner", 3, flushedFirst)
	backup := n.copyHome(t)
	n.job(t, "partner", 9, none)
	n.replaceHome(t, backup)
	require.ErrorContains(t, n.refused(t, "partner", "1"), "branch: v-000009-")
	log := n.job(t, "partner", 10, none)
	require.Contains(t, log, notKnown)
	require.Contains(t, log, "version=9 iteration=8")
	require.NotContains(t, n.job(t, "partner", 11, none, WithStrict()), notKnown)
}

// Another computation was begun in the copy, and has driven out what the nodes had. It does
// not stand for the one that the original tells of.
func TestFreshStartInACopyOfTheHome(t *testing.T) {
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprintf("records=%v", on), func(t *testing.T) {
			n := newTestNodes(t, 0, 1)
			n.job(t, "partner", 3, none, records(on))
			variant := n.inACopy(t, func() {
				n.job(t, "partner", 6, none, records(on), freshStart)
				n.job(t, "partner", 9, none, records(on))
			})
			require.Empty(t, n.allFiles(t, 3))
			err := n.refused(t, "partner", "1", records(on))
			require.ErrorContains(t, err, "absent: ")
			require.ErrorContains(t, err, "v-000003-")
			require.ErrorContains(t, err, "branch: v-000012-")
			require.ErrorContains(t, n.refused(t, "partner", "allow-absent", records(on)), "branch: v-000012-")
			require.ErrorContains(t, n.refused(t, "partner", "allow-branch", records(on)), "absent: ")
			log, err := n.try(t, "partner", 10, none, records(on))
			require.ErrorIs(t, err, ErrNoUsableVersion)
			require.ErrorContains(t, err, "v-000003-")
			require.ErrorContains(t, err, "v-000012-")
			require.Contains(t, log, notKnown)
			require.Contains(t, log, "the newest version is not used")

			original := n.replaceHome(t, variant)
			require.Contains(t, n.job(t, "partner", 9, none, records(on), WithStrict()), "version=12 iteration=8")
			n.replaceHome(t, original)
			n.job(t, "partner", 2, none, records(on), freshStart)
			require.Contains(t, n.job(t, "partner", 3, none, records(on), WithStrict()), "version=14 iteration=1")
		})
	}
}

// The same where an older version of the original is at home: that is gone back to.
func TestFreshStartInACopyAndAnOlderVersion(t *testing.T) {
	n := newTestNodes(t, 0, 1)
	n.job(t, "partner", 3, flushedFirst)
	n.job(t, "partner", 5, none)
	n.inACopy(t, func() { n.job(t, "partner", 6, none, freshStart) })
	err := n.refused(t, "partner", "1")
	require.ErrorContains(t, err, "absent: ")
	require.ErrorContains(t, err, "branch: ")
	log := n.job(t, "partner", 4, none)
	require.Contains(t, log, "version=3 iteration=2")
	require.Contains(t, log, "the newest version is not used")
	require.Contains(t, log, "another branch")
	require.NotContains(t, log, notKnown, "that has named them")
	require.NotContains(t, n.job(t, "partner", 6, none), notKnown)
}

// A home that only its own runs use says no such thing, however they end.
func TestRunsOfTheHomeAreKnown(t *testing.T) {
	ofData(t)
	strict := WithStrict()
	for name, run := range map[string]func(t *testing.T, n *testNodes, opts ...Option) (log string){
		"one after the other": func(t *testing.T, n *testNodes, opts ...Option) (log string) {
			for until := range 5 {
				log += n.job(t, "local,partner:2,pfs:3", 2*until, none, append(opts, strict)...)
			}
			return log
		},
		"killed": func(t *testing.T, n *testNodes, opts ...Option) string {
			for _, until := range []int{0, 3, 5, 5, 8} {
				n.killed(t, "partner", until, none, append(opts, strict)...)
			}
			return n.job(t, "partner", 9, none, append(opts, strict)...)
		},
		"other levels": func(t *testing.T, n *testNodes, opts ...Option) (log string) {
			for i, levels := range []string{"local", "partner,pfs:1", "", "", "xor", "partner"} {
				log += n.job(t, levels, 2*(i+1), flushedFirst, append(opts, strict)...)
			}
			return log
		},
		"fresh starts": func(t *testing.T, n *testNodes, opts ...Option) (log string) {
			for i := range 3 {
				n.job(t, "partner", 3+i, none, append(opts, freshStart)...)
				log += n.job(t, "partner", 5+i, none, append(opts, strict)...)
			}
			return log
		},
		"other nodes": func(t *testing.T, n *testNodes, opts ...Option) (log string) {
			n.job(t, "partner,pfs:1000", 3, flushedFirst, opts...)
			n.killed(t, "partner,pfs:1000", 5, none, opts...)
			for i, of := range [][]int{{2, 3}, {0, 1, 2, 3}, {1, 2}, {4, 0}, {3, 4}, {0, 1, 2, 3, 4}} {
				n.of = of
				if i%2 == 0 {
					n.killed(t, "partner,pfs:1000", 0, none, opts...)
				}
				log += n.job(t, "partner,pfs:1000", 6+i, flushedFirst, opts...)
			}
			return log
		},
		"backup of a running job": func(t *testing.T, n *testNodes, opts ...Option) string {
			var backup string
			n.job(t, "local", 3, func(ctx context.Context, g *grid) (err error) {
				if g.c.Rank() == 0 {
					backup = n.copyHome(t)
					err = os.Remove(filepath.Join(backup, ".lock"))
				}
				if err == nil {
					err = comm.Barrier(ctx, g.c)
				}
				for ; err == nil && g.iter < 120; g.iter++ { // more than were reserved
					g.step()
					err = g.cp.UpdateAndWrite(ctx, g.iter, 1)
				}
				return err
			}, opts...)
			n.replaceHome(t, backup)
			log := n.job(t, "local", 121, none, append(opts, strict)...)
			require.Contains(t, log, "version=120 ")
			return log + n.job(t, "local", 122, none, append(opts, strict)...)
		},
		"numbers are not noted": func(t *testing.T, n *testNodes, opts ...Option) string {
			n.job(t, "partner", 3, none, opts...)
			note := n.manifest(t)
			note.ReservedFrom = 0 // by a program of before
			n.write(t, note)
			return n.job(t, "partner", 5, none, append(opts, strict)...)
		},
	} {
		for _, on := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s records=%v", name, on), func(t *testing.T) {
				log := run(t, newTestNodes(t, 0, 1), records(on))
				require.Contains(t, log, "msg=restored")
				require.NotContains(t, log, notKnown)
			})
		}
	}
}

// What is nested has a directory and a note of its own, which is copied along.
func TestCopyOfANestedHome(t *testing.T) {
	n := newTestNodes(t, 0, 1)
	n.nest(t, "partner", &nestPoint{"written", []int{0, 2}})
	home, original := filepath.Join(n.dir, "pfs"), filepath.Join(n.dir, "original")
	require.NoError(t, os.Rename(home, original))
	require.NoError(t, os.CopyFS(home, os.DirFS(original)))
	taken, log := n.nest(t, "partner", &nestPoint{"written", []int{0, 4}}, WithStrict())
	require.Equal(t, []int{-1, 2}, taken)
	require.NotContains(t, log, notKnown)
	require.NoError(t, os.RemoveAll(home))
	require.NoError(t, os.Rename(original, home))
	taken, log = n.nest(t, "partner", nil)
	require.Equal(t, []int{-1, 4}, taken)
	require.Contains(t, log, notKnown)
	require.Contains(t, log, filepath.Join(home, "level1"))
}
