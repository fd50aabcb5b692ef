package memory

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/offheap"
	"github.com/craft-go/craft/internal/testseed"
)

// held are the descriptors and the mappings that this process has of the memory of a store.
func held(t *testing.T, of *Store) (descriptors, mappings int) {
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, slab := range of.extents.slabs.list {
		var one unix.Stat_t
		require.NoError(t, unix.Fstat(int(slab.segment.Address().FD), &one))
		mappings += strings.Count(string(maps), fmt.Sprintf(" %d ", one.Ino))
		for _, fd := range open {
			var other unix.Stat_t
			if unix.Stat("/proc/self/fd/"+fd.Name(), &other) == nil && other.Ino == one.Ino && other.Dev == one.Dev {
				descriptors++
			}
		}
	}
	return descriptors, mappings
}

// TestNothingStaysOpen: a segment takes one descriptor, as does one that is read; the next attempt has no
// memory of ranks that have ended mapped, and a store that is closed none at all.
func TestNothingStaysOpen(t *testing.T) {
	needSegments(t)
	p := newPair(t)
	data := random(testseed.Rand(t), 9<<20)
	for v := uint64(1); v < 4; v++ {
		require.NoError(t, p.write(v, data).Commit())
	}
	slabs := len(p.here.extents.slabs.list)
	require.Less(t, slabs, 8, "they are few")
	open, mapped := held(t, p.here)
	require.Equal(t, slabs+len(p.there.windows.list), open)
	require.Equal(t, open, mapped)
	require.NotEmpty(t, p.there.windows.list)

	w := p.write(4, data) // is being read
	read := w.others[0].to.(stream).PartWriter.(*receiver).read
	require.NoError(t, p.there.Rebind(nil, comm.Change{}))
	require.NotEmpty(t, read[len(read)-1].Mapped())
	require.NoError(t, w.Commit())
	require.Zero(t, p.sent)
	open, mapped = held(t, p.here)
	require.Equal(t, len(p.here.extents.slabs.list), open)
	require.Equal(t, open, mapped)

	require.NoError(t, p.write(5, data).Abort())
	require.NotEmpty(t, p.there.windows.list)
	require.NoError(t, p.there.Close())
	open, mapped = held(t, p.here)
	require.Equal(t, open, mapped)
	var all []unix.Stat_t
	for _, slab := range p.here.extents.slabs.list {
		var one unix.Stat_t
		require.NoError(t, unix.Fstat(int(slab.segment.Address().FD), &one))
		all = append(all, one)
	}
	require.NoError(t, p.here.Close())
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for _, one := range all {
		require.False(t, strings.Contains(string(maps), fmt.Sprintf(" %d ", one.Ino)), "it is mapped")
	}
}

// TestMemoryOfTheDead is not found, and no error but that.
func TestMemoryOfTheDead(t *testing.T) {
	_, err := new(windows).acquire(offheap.Address{PID: 1 << 30, FD: 3, Size: 8192})
	require.ErrorIs(t, err, offheap.ErrNotThere)
}

// TestClosedMemoryIsNotKept: what its owner has given back to the system is not mapped for ever.
func TestClosedMemoryIsNotKept(t *testing.T) {
	needSegments(t)
	w := new(windows)
	defer w.drop()
	for range 5 {
		segment, err := offheap.NewSegment(8192)
		require.NoError(t, err)
		one, err := w.acquire(segment.Address())
		require.NoError(t, err)
		w.release(one)
		require.Len(t, w.list, 1)
		require.NoError(t, segment.Close())
	}
}
