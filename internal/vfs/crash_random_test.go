package vfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// TestCrashRandom does random operations on names and checks after crashes what
// holds whatever survives: no file of before is lost or doubled. VFS_SEED
// replays a run.
func TestCrashRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("VFS_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("VFS_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 150 {
		newRandomTree(t, rng).run(30)
	}
}

// randomTree holds files whose content is their identity, all synced, so that
// only names are at stake.
type randomTree struct {
	t    *testing.T
	rng  *rand.Rand
	mem  *vfs.Mem
	next int
	log  []string
	// gone are the identities that were removed or replaced, old those that
	// were durable from the start.
	gone, old map[string]bool
}

func newRandomTree(t *testing.T, rng *rand.Rand) *randomTree {
	r := &randomTree{t: t, rng: rng, mem: vfs.NewMem(), gone: map[string]bool{}, old: map[string]bool{}}
	for range 12 {
		r.step(false)
	}
	r.mem = r.mem.Crash(1, nil)
	for id := range r.identities(r.mem) {
		r.old[id] = true
	}
	r.log = append(r.log, "-- all of it durable")
	return r
}

func (r *randomTree) run(steps int) {
	start := listing(r.t, r.mem)
	syncs := r.rng.IntN(2) == 0
	for range steps {
		r.step(syncs)
		for _, keep := range []float64{0.2, 0.5, 0.8} {
			r.check(r.mem.Crash(keep, r.rng))
		}
		require.Equal(r.t, listing(r.t, r.mem), listing(r.t, r.mem.Crash(1, nil)), "%q", r.log)
		none := r.mem.Crash(0, nil)
		r.check(none)
		if !syncs {
			require.Equal(r.t, start, listing(r.t, none), "%q", r.log)
		}
	}
}

func (r *randomTree) check(disk *vfs.Mem) {
	counts := r.identities(disk)
	for id, n := range counts {
		require.Equal(r.t, 1, n, "file %s has %d names: %s\n%q", id, n, listing(r.t, disk), r.log)
	}
	for id := range r.old {
		if !r.gone[id] {
			require.Equal(r.t, 1, counts[id], "file %s is lost: %s\n%q", id, listing(r.t, disk), r.log)
		}
	}
}

func (r *randomTree) identities(fsys vfs.FS) map[string]int {
	counts := map[string]int{}
	walk(r.t, fsys, "/", func(name string, isDir bool) {
		if !isDir {
			counts[get(r.t, fsys, name)]++
		}
	})
	return counts
}

// step does one random operation; one that is refused changes nothing.
func (r *randomTree) step(sync bool) {
	name, other := r.name(), r.name()
	var err error
	switch kind := r.rng.IntN(12); {
	case kind < 2:
		err = r.mem.Mkdir(name, 0o755)
		r.note(err, "mkdir %s", name)
	case kind < 4:
		err = r.create(name)
		r.note(err, "create %s", name)
	case kind < 9:
		id := r.identity(other)
		err = r.mem.Rename(name, other)
		if err == nil && id != "" && name != other {
			r.gone[id] = true
		}
		r.note(err, "rename %s %s", name, other)
	case kind < 11:
		id := r.identity(name)
		err = r.mem.Remove(name)
		if err == nil && id != "" {
			r.gone[id] = true
		}
		r.note(err, "remove %s", name)
	case sync:
		err = r.mem.SyncDir(path.Dir(name))
		r.note(err, "syncdir %s", path.Dir(name))
		if err == nil && path.Dir(name) == "/" {
			r.checkRoot()
		}
	}
}

func (r *randomTree) note(err error, format string, args ...any) {
	if err == nil {
		r.log = append(r.log, fmt.Sprintf(format, args...))
		return
	}
	var errno syscall.Errno
	require.True(r.t, errors.As(err, &errno), "%v", err)
}

func (r *randomTree) create(name string) error {
	f, err := r.mem.Create(name, 0o644)
	if err != nil {
		return err
	}
	r.next++
	_, err = fmt.Fprintf(f, "id%d", r.next)
	return errors.Join(err, f.Sync(), f.Close())
}

// identity returns what file has the name, "" if there is none.
func (r *randomTree) identity(name string) string {
	data, err := vfs.ReadFile(r.mem, name, 100)
	if err != nil {
		return ""
	}
	return string(data)
}

// checkRoot compares the synced root with what is left of it after a crash. (The
// name of another directory may itself not be durable.)
func (r *randomTree) checkRoot() {
	want, err := r.mem.ReadDir("/")
	require.NoError(r.t, err)
	got, err := r.mem.Crash(0, nil).ReadDir("/")
	require.NoError(r.t, err)
	require.Equal(r.t, names(want), names(got), "%q", r.log)
}

func names(entries []fs.DirEntry) (names []string) {
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// name draws a path of up to three levels from a few names.
func (r *randomTree) name() string {
	name := "/"
	for range 1 + r.rng.IntN(3) {
		name = path.Join(name, string("abc"[r.rng.IntN(3)]))
	}
	return name
}
