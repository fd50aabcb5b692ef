package nodelocal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// content is what an object holds in these tests: more than a page, and less from
// version to version, so that what is written over has to be cut.
func content(key storage.ObjectKey) string {
	return strings.Repeat(key.String()+"\n", 160-10*int(key.ID.Version))
}

// history is what a program has done: what must be there, and what may be.
type history struct {
	must, may map[storage.ObjectKey]bool
}

func newHistory() *history {
	return &history{must: map[storage.ObjectKey]bool{}, may: map[storage.ObjectKey]bool{}}
}

func (h *history) clone() *history { return &history{maps.Clone(h.must), maps.Clone(h.may)} }

// run does some of everything a job does on its node. With strict, every step
// has to succeed.
func (h *history) run(s *Store, strict bool) error {
	ctx := context.Background()
	check := func(err error) error {
		if strict {
			return err
		}
		return nil
	}
	write := func(key storage.ObjectKey) error {
		h.may[key] = true
		err := tryPut(s, key, content(key))
		if err == nil {
			h.must[key] = true
		} else if !h.must[key] {
			delete(h.may, key) // "when it fails the part is gone"
		}
		return check(err)
	}
	remove := func(keys []storage.ObjectKey, how func() error) error {
		for _, key := range keys {
			delete(h.must, key)
		}
		return check(how()) // a crash may bring the names back
	}
	all := func(v uint64) []storage.ObjectKey {
		return []storage.ObjectKey{someKey(v, storage.KindPart, 0), someKey(v, storage.KindPart, 1), someKey(v, storage.KindCopy, 5), someKey(v, storage.KindParity, 0)}
	}
	if err := check(s.Prepare(ctx, func(storage.Entry) bool { return true })); err != nil {
		return err
	}
	for v := uint64(1); v <= 4; v++ {
		for _, key := range all(v) {
			if err := write(key); err != nil {
				return err
			}
		}
		if v > 2 {
			old := all(v - 2)
			if err := remove(old, func() error { return s.Remove(ctx, old[0].ID) }); err != nil {
				return err
			}
		}
	}
	if w, err := s.CreateObject(ctx, someKey(5, storage.KindPart, 0)); err == nil {
		if _, err := w.Write([]byte("thrown away")); check(err) != nil {
			return err
		}
		return check(w.Abort())
	} else {
		return check(err)
	}
}

// verify looks at what is there: everything that must be, nothing that may not,
// all of it whole. Then it goes on writing.
func (h *history) verify(t *testing.T, disk *vfs.Mem, policy filestore.Sync, where string) {
	c := config("/node", disk)
	c.Sync, c.smallestSpare = policy, 1
	s := newStore(t, c)
	objects, err := s.Inventory(t.Context())
	require.NoError(t, err, where)
	there := map[storage.ObjectKey]bool{}
	for _, o := range objects {
		there[o.ObjectKey] = true
		require.True(t, h.may[o.ObjectKey], "%s: %v is there", where, o.ObjectKey)
		require.Equal(t, len(content(o.ObjectKey)), int(o.Size), "%s: %v is not whole", where, o.ObjectKey)
		require.Equal(t, content(o.ObjectKey), get(t, s, o.ObjectKey), where)
	}
	for key := range h.must {
		require.True(t, there[key], "%s: %v is lost", where, key)
	}
	require.NoError(t, s.Prepare(t.Context(), func(e storage.Entry) bool { return e.ID.Version >= 2 }), where)
	next := someKey(9, storage.KindPart, 0)
	put(t, s, next, content(next))
	require.Equal(t, content(next), get(t, newStore(t, c), next), where)
	useful := make(map[string]bool)
	for key := range there {
		useful[key.File()] = true
	}
	for _, name := range memTree(t, disk, s.Dir()) {
		require.True(t, name == filestore.SpareName || !strings.HasPrefix(name, "."), "%s: %s is left", where, name)
	}
	for _, name := range spares(t, s) {
		require.True(t, useful[name], "%s: %s is left", where, name)
	}
	for key := range there { // also over what is spare
		key.ID = next.ID
		put(t, s, key, content(key))
		require.Equal(t, content(key), get(t, s, key), where)
	}
}

func memTree(t *testing.T, disk *vfs.Mem, dir string) []string {
	entries, err := disk.ReadDir(dir)
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
		if e.IsDir() {
			out = append(out, memTree(t, disk, dir+"/"+e.Name())...)
		}
	}
	return out
}

// withAndWithoutSpares tests with all files kept as spares, and with none.
func withAndWithoutSpares(t *testing.T, test func(t *testing.T, c Config)) {
	for _, spares := range []bool{true, false} {
		t.Run(fmt.Sprintf("spares %v", spares), func(t *testing.T) {
			c := config("/node", nil)
			c.smallestSpare = 1
			if !spares {
				c.smallestSpare = math.MaxInt64
			}
			test(t, c)
		})
	}
}

func TestCrashAfterEveryOperation(t *testing.T) { withAndWithoutSpares(t, testCrash) }

func testCrash(t *testing.T, c Config) {
	rng := testseed.Rand(t)
	type state struct {
		disk  *vfs.Mem
		told  *history
		where string
	}
	var states []state
	disk, h := vfs.NewMem(), newHistory()
	over := 0
	disk.OnOp(func(op vfs.Op) {
		if op.Kind == vfs.OpTruncate {
			over++
		}
		for _, keep := range []float64{0, 0.5, 1} {
			states = append(states, state{disk.Crash(keep, rng), h.clone(), fmt.Sprintf("crash after %v, %v kept", op, keep)})
		}
	})
	c.FS = disk
	require.NoError(t, h.run(newStore(t, c), true))
	require.Equal(t, c.smallestSpare == 1, over > 0, "%d spares were used", over)
	require.NotEmpty(t, h.must)
	require.Greater(t, len(states), 300)
	for _, s := range states {
		s.told.verify(t, s.disk, filestore.SyncFull, s.where)
	}
}

// Without syncs a killed process still leaves whole objects.
func TestKillAfterEveryOperationWithoutSync(t *testing.T) { withAndWithoutSpares(t, testKill) }

func testKill(t *testing.T, c Config) {
	type state struct {
		disk  *vfs.Mem
		told  *history
		where string
	}
	var states []state
	disk, h := vfs.NewMem(), newHistory()
	disk.OnOp(func(op vfs.Op) {
		states = append(states, state{disk.Crash(1, nil), h.clone(), fmt.Sprintf("killed after %v", op)})
	})
	c.FS, c.Sync = disk, filestore.SyncNone
	require.NoError(t, h.run(newStore(t, c), true))
	for _, s := range states {
		s.told.verify(t, s.disk, filestore.SyncNone, s.where)
	}
}

// Each operation fails once; what was there before stays, what is there is whole.
func TestEveryOperationFails(t *testing.T) { withAndWithoutSpares(t, testFaults) }

func testFaults(t *testing.T, c Config) {
	broken := errors.New("injected")
	for _, fault := range []error{broken, &vfs.ShortWrite{N: 7, Err: broken}} {
		operations := 0
		for failing := 0; failing <= operations; failing++ {
			disk, h := vfs.NewMem(), newHistory()
			count, where := 0, ""
			c.FS = vfs.WithErrors(disk, func(op vfs.Op) error {
				count++
				if count-1 != failing {
					return nil
				}
				where = fmt.Sprintf("%v failed", op)
				return fault
			})
			require.NoError(t, h.run(newStore(t, c), false))
			operations = count
			h.verify(t, disk, filestore.SyncFull, where)
		}
		require.Greater(t, operations, 150)
	}
}

// A power failure while the storage is failing: nothing that was promised goes.
func TestRandomFaultsAndCrashes(t *testing.T) { withAndWithoutSpares(t, testRandomFaults) }

func testRandomFaults(t *testing.T, c Config) {
	rng := testseed.Rand(t)
	broken := errors.New("injected")
	for round := range 100 {
		disk, h := vfs.NewMem(), newHistory()
		end := rng.IntN(500)
		var after *vfs.Mem
		var told *history
		count := 0
		disk.OnOp(func(vfs.Op) {
			if count++; count == end {
				after, told = disk.Crash(rng.Float64(), rng), h.clone()
			}
		})
		c.FS = vfs.WithErrors(disk, func(op vfs.Op) error {
			// A file that cannot even be removed is another story.
			if op.Kind != vfs.OpRemove && rng.IntN(20) == 0 {
				return broken
			}
			return nil
		})
		require.NoError(t, h.run(newStore(t, c), false))
		disk.OnOp(nil)
		if after == nil {
			after, told = disk, h
		}
		// What a failed write took back may be there again after a crash.
		for v := uint64(1); v <= 4; v++ {
			for kind := range storage.KindParity + 1 {
				for rank := range 8 {
					told.may[someKey(v, kind, rank)] = true
				}
			}
		}
		told.verify(t, after, filestore.SyncFull, fmt.Sprintf("round %d, crash after %d operations, %d promised",
			round, end, len(slices.Collect(maps.Keys(told.must)))))
	}
}
