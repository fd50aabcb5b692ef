package checkpoint

import (
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
)

// TestRandomSharing restarts programs whose memory hangs together in any way, at the time
// of the write and, in another way, when the restart begins: what is stored is restored to
// the bit, or the restart is refused, with the keys.
func TestRandomSharing(t *testing.T) {
	rounds, refused := eachSharingRound(t, 60, (*sharingRound).run)
	t.Logf("%d rounds, %d of them refused", rounds, refused)
	require.Less(t, refused, rounds/2)
}

func eachSharingRound(t *testing.T, least int, run func(*sharingRound, *testing.T) error) (rounds, refused int) {
	seed, until := testseed.Seed(t), testSeconds()
	for ; rounds < max(least/underRace(), 25) || time.Now().Before(until); rounds++ {
		if err := run(newSharingRound(seed+uint64(rounds)), t); err != nil {
			require.ErrorIs(t, err, cptypes.ErrShared)
			require.ErrorIs(t, err, ErrKey)
			refused++
		}
		if t.Failed() {
			testseed.Print(t, seed+uint64(rounds))
			t.FailNow()
		}
	}
	return rounds, refused
}

// sharingRound is a program that writes and one that is restarted.
type sharingRound struct {
	*rand.Rand
	disk           *vfs.Mem
	mode           string
	stored, absent []string // keys
	then, now      *heap
}

func newSharingRound(seed uint64) *sharingRound {
	r := &sharingRound{Rand: rand.New(rand.NewPCG(seed, 0)), disk: vfs.NewMem(), then: new(heap), now: new(heap)}
	r.mode = modes[r.IntN(len(modes))]
	keys := slices.Sorted(maps.Keys(r.now.values()))
	r.Shuffle(len(keys), func(i, k int) { keys[i], keys[k] = keys[k], keys[i] })
	n := 1 + r.IntN(len(keys))
	r.stored, r.absent = keys[:n], keys[n:][:r.IntN(1+len(keys)-n)]
	return r
}

func (r *sharingRound) open(t *testing.T, name string, w *heap, keys []string) *Checkpoint {
	cp, err := New(name, nil, WithPath("/cp"), withFS(r.disk), inMode(r.mode), WithSync(SyncNone), WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	for _, key := range keys {
		require.NoError(t, cp.Add(key, w.values()[key], Optional(), Resizable()))
	}
	require.NoError(t, cp.Commit())
	return cp
}

func (r *sharingRound) run(t *testing.T) error {
	written := r.write(t)
	r.now.grow(r.Rand, 90_000_000, r.IntN(60), 10+r.IntN(60), true)
	kept, absent := r.now.kept(), r.ofAbsent()
	cp := r.open(t, "test", r.now, slices.Concat(r.stored, r.absent))
	defer cp.Close()
	if err := cp.RestartIfNeeded(t.Context(), nil); err != nil {
		return err
	}
	r.check(t, r.stored, written[cp.Stats().RestoredVersion-1])
	for key, now := range r.ofAbsent() {
		if before, was := absent[key]; was && now != before {
			t.Errorf("key %q of %v, that is not stored as %v are, is not what it was", key, r.absent, r.stored)
		}
	}
	for path, k := range r.now.kept() {
		if before, was := kept[path]; was && k != 0 && k != before {
			t.Errorf("%s.Kept was %d and is %d", path, before, k)
		}
	}
	return nil
}

// check makes sure that values are what was stored.
func (r *sharingRound) check(t *testing.T, keys []string, want map[string]string) {
	have, err := r.now.encoded(keys)
	require.NoError(t, err)
	for _, key := range keys {
		if have[key] != want[key] {
			t.Errorf("key %q of %v is not what was stored", key, r.stored)
		}
	}
}

// write writes one version, or two, and may damage one of them.
func (r *sharingRound) write(t *testing.T) (written []map[string]string) {
	cp := r.open(t, "test", r.then, r.stored)
	for v := range 1 + r.IntN(2) {
		written = append(written, r.then.growStorable(r.Rand, int64(1+v)*10_000_000, []int{0, 0, 5, 15}[r.IntN(4)], r.stored))
		require.NoError(t, errors.Join(cp.Write(t.Context()), cp.Wait(t.Context())))
	}
	require.NoError(t, cp.Close())
	if len(written) == 2 && r.IntN(2) == 0 {
		damageOne(t, r.disk, r.Rand)
	}
	return written
}

// ofAbsent is what is in memory of values that are not stored, and refer to none in other
// variables: those change with them.
func (r *sharingRound) ofAbsent() map[string]string {
	out := make(map[string]string)
	for _, key := range r.absent {
		if slices.Contains([]string{"x", "y", "rows", "map", "dense", "odd", "sparse"}, key) {
			if e, err := r.now.encoded([]string{key}); err == nil {
				out[key] = e[key]
			}
		}
	}
	return out
}

// The same for a parent and a child, which may be made when its parent has been restarted:
// neither changes what the other one has restored.
func TestRandomSharingOfParentAndChild(t *testing.T) {
	rounds, refused := eachSharingRound(t, 40, (*sharingRound).nested)
	t.Logf("%d rounds, %d of them refused", rounds, refused)
}

func (r *sharingRound) nested(t *testing.T) error {
	ctx, k := t.Context(), r.IntN(len(r.stored)+1)
	parents, childs := r.stored[:k], r.stored[k:]
	want := r.then.growStorable(r.Rand, 10_000_000, 0, r.stored)
	parent, child := r.open(t, "parent", r.then, parents), r.open(t, "child", r.then, childs)
	require.NoError(t, errors.Join(parent.SubCP(child), parent.RestartIfNeeded(ctx, nil), parent.UpdateAndWrite(ctx, 0, 1),
		child.RestartIfNeeded(ctx, nil), child.UpdateAndWrite(ctx, 0, 1), child.Close(), parent.Close()))

	r.now.grow(r.Rand, 90_000_000, r.IntN(60), 10+r.IntN(60), true)
	parent, child = r.open(t, "parent", r.now, parents), nil
	defer func() {
		if child != nil {
			require.NoError(t, child.Close())
		}
		require.NoError(t, parent.Close())
	}()
	makeChild := func() {
		child = r.open(t, "child", r.now, childs)
		require.NoError(t, parent.SubCP(child))
	}
	anew := r.IntN(2) == 0
	if !anew {
		makeChild()
	}
	if err := parent.RestartIfNeeded(ctx, nil); err != nil {
		return err
	}
	r.check(t, parents, want)
	if anew {
		makeChild()
	}
	if err := child.RestartIfNeeded(ctx, nil); err != nil {
		return err
	}
	r.check(t, r.stored, want)
	return nil
}
