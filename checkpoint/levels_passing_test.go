package checkpoint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
)

// passing is a fault of what a restart looks at: one operation fails, or all on one path
// from that one on.
type passing struct {
	at    int // which operation fails, counted from 1
	stays bool
	cause error

	mu    sync.Mutex
	count int
	hit   vfs.Op
}

func (p *passing) inject(op vfs.Op) error {
	switch op.Kind {
	case vfs.OpOpen, vfs.OpRead, vfs.OpStat, vfs.OpReadDir:
	default:
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count++; p.count == p.at {
		p.hit = op
	}
	if p.count == p.at || p.stays && p.count > p.at && op.Path == p.hit.Path {
		return p.cause
	}
	return nil
}

// on makes all that a job stores go to one file system.
func on(fsys vfs.FS) Option {
	return func(o *options) {
		withFS(fsys)(o)
		o.nodeFS = fsys
	}
}

// versionFiles are those of all versions.
func versionFiles(t *testing.T, disk vfs.FS, dir string) map[string]bool {
	found := make(map[string]bool)
	entries, err := disk.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			for file := range versionFiles(t, disk, path) {
				found[file] = true
			}
		case strings.HasPrefix(filepath.Base(dir), "v-"):
			found[path] = true
		}
	}
	return found
}

// Files of the newest version cannot be opened for a while, and with the nodes that are lost
// nothing gives their bytes back: the restart is an error that says so, and nothing is gone.
func TestLevelsThatCannotBeRead(t *testing.T) {
	ofData(t)
	for _, c := range []struct {
		levels, file string
		lost         []int
		opened       int // how often it can be opened before
	}{
		{"partner:1", "copy-rank-00001", []int{1}, 0},
		{"xor:1", "rank-00000", []int{1}, 0},
		{"xor:1", "parity-", []int{1}, 0},
		{"xor:1", "parity-rank-00002", []int{1}, 0},
		{"xor:1", "parity-", []int{1}, 1}, // after the survey
		{"rs:1", "rank-00000", []int{1, 2}, 0},
		{"rs:1", "parity-", []int{1, 2}, 0},
		{"rs:1", "parity-", []int{1, 2}, 1},
		{"xor:1,pfs:2", "rank-00000", []int{1}, 0}, // the older version is on the parallel file system, too
		{"xor:1,pfs:2", "parity-", []int{1}, 0},
		{"xor:1,pfs:2", "parity-", []int{1}, 1},
	} {
		for _, cause := range sample(t, []error{syscall.EIO, syscall.EACCES, syscall.EMFILE}, 3) {
			t.Run(fmt.Sprint(c.levels, " ", c.file, " ", c.opened, " ", cause), func(t *testing.T) {
				n := &testNodes{dir: "/", of: []int{0, 1, 2, 3}}
				disk := vfs.NewMem()
				n.job(t, c.levels, 5, none, on(disk))
				whole := versionFiles(t, disk, "/")
				for _, i := range c.lost {
					require.NoError(t, vfs.RemoveAll(disk, n.node(i)))
				}
				before := versionFiles(t, disk, "/")
				opened, mu := make(map[string]int), sync.Mutex{}
				log, err := n.try(t, c.levels, 5, none, on(vfs.WithErrors(disk, func(op vfs.Op) error {
					newest := strings.Contains(op.Path, "/v-000005-") && strings.HasPrefix(filepath.Base(op.Path), c.file)
					if op.Kind != vfs.OpOpen || !newest {
						return nil
					}
					mu.Lock()
					defer mu.Unlock()
					if opened[op.Path]++; opened[op.Path] <= c.opened {
						return nil
					}
					return cause
				})))
				require.ErrorContains(t, err, cause.Error(), log)
				require.NotErrorIs(t, err, ErrNoUsableVersion)
				require.NotContains(t, log, "set aside")
				is := versionFiles(t, disk, "/")
				require.Subset(t, is, before)
				require.Subset(t, whole, is, "a part that can be rebuilt without that file may be")
				require.Contains(t, n.job(t, c.levels, 5, none, on(disk), WithStrict()), "iteration=4")
			})
		}
	}
}

// What cannot be read now, whatever it is, is neither damaged nor lost: with the nodes gone
// that the level allows the newest version is restored all the same, or the restart is an
// error that another one gets over, and nothing is set aside or deleted.
func TestLevelsPassingFaults(t *testing.T) {
	for _, levels := range sample(t, []string{"partner:1", "partner:1,pfs:2", "xor:1", "xor:1,pfs:2", "rs:1", "rs:1,pfs:2"}, 1) {
		t.Run(levels, func(t *testing.T) {
			n := &testNodes{dir: "/", of: []int{0, 1, 2, 3}}
			stored := vfs.NewMem()
			n.job(t, levels, 5, none, on(stored)) // the newest one is not on the parallel file system
			lost := []int{1}
			if strings.HasPrefix(levels, "rs") {
				lost = []int{1, 2}
			}
			for _, i := range lost {
				require.NoError(t, vfs.RemoveAll(stored, n.node(i)))
			}
			rng := testseed.Rand(t)
			all := &passing{}
			n.job(t, levels, 5, none, on(vfs.WithErrors(stored.Crash(1, nil), all.inject)))
			refused := 0
			for _, at := range choose(rng, numbers(all.count), 30) {
				if n.passes(t, levels, stored, at, rng) {
					refused++
				}
			}
			t.Logf("%d operations, %d errors", all.count, refused)
		})
	}
}

func numbers(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

// passes starts a job while something cannot be read, and one afterwards. It reports
// whether the first one was an error.
func (n *testNodes) passes(t *testing.T, levels string, stored *vfs.Mem, at int, rng *rand.Rand) (refused bool) {
	disk := stored.Crash(1, nil)
	fault := &passing{at: at, stays: rng.IntN(3) > 0, cause: []error{syscall.EIO, syscall.EMFILE, syscall.EACCES}[rng.IntN(3)]}
	log, err := n.try(t, levels, 5, healed, on(vfs.WithErrors(disk, fault.inject)))
	about := fmt.Sprintf("operation %d, %v (stays: %v): %v\nerror: %v\n%s", at, fault.hit, fault.stays, fault.cause, err, log)
	require.NotContains(t, log, "set aside", about)
	require.NotErrorIs(t, err, ErrNoUsableVersion, about)
	if err == nil {
		require.Contains(t, log, "msg=restored", about)
		require.Contains(t, log, "iteration=4", about)
	} else {
		known := errors.Is(err, fault.cause) || strings.Contains(err.Error(), fault.cause.Error())
		require.True(t, known, about)
	}
	is := versionFiles(t, disk, "/")
	for file := range versionFiles(t, stored, "/") {
		require.True(t, is[file], "%s is gone: %s", file, about)
	}
	log = n.job(t, levels, 5, none, on(disk))
	require.Contains(t, log, "iteration=4", about)
	return err != nil
}
