package memory

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/offheap"
	"github.com/craft-go/craft/internal/testseed"
)

// held are the descriptors and the mappings of segments that this process has.
func held(t *testing.T) (descriptors, mappings int) {
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, one := range open {
		if name, _ := os.Readlink("/proc/self/fd/" + one.Name()); bytes.Contains([]byte(name), []byte("/memfd:")) {
			descriptors++
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return descriptors, bytes.Count(maps, []byte("/memfd:"))
}

// TestNothingStaysOpen: a segment takes one descriptor, one that is read takes none; the next attempt has no
// memory of ranks that have ended, and a store that is closed has none at all.
func TestNothingStaysOpen(t *testing.T) {
	needSegments(t)
	files, maps := held(t)
	p := newPair(t)
	data := random(testseed.Rand(t), 9<<20)
	for v := uint64(1); v < 4; v++ {
		require.NoError(t, p.write(v, data).Commit())
	}
	slabs := len(p.here.extents.slabs.list) + len(p.there.extents.slabs.list)
	require.Less(t, slabs, 14, "they are few")
	open, mapped := held(t)
	require.Equal(t, files+slabs, open)
	require.Equal(t, maps+slabs+len(p.there.windows.list), mapped)
	require.NotEmpty(t, p.there.windows.list)

	w := p.write(4, data) // is being read
	require.NoError(t, p.there.Rebind(nil, comm.Change{}))
	require.NoError(t, w.Commit())
	open, mapped = held(t)
	require.Equal(t, files+slabs, open)
	require.Equal(t, maps+slabs, mapped)

	require.NoError(t, p.write(5, data).Abort())
	require.NoError(t, p.here.Close())
	require.NoError(t, p.there.Close())
	open, mapped = held(t)
	require.Equal(t, files, open)
	require.Equal(t, maps, mapped)
}

// TestMemoryOfTheDead is not found, and no error but that.
func TestMemoryOfTheDead(t *testing.T) {
	_, err := new(windows).acquire(offheap.Address{PID: 1 << 30, FD: 3, Size: 8192})
	require.ErrorIs(t, err, offheap.ErrNotThere)
}
