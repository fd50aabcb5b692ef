package placement

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/flush"
)

// What a rank remembers of the versions of a job does not grow with their number;
// what is yet to be flushed it does not forget.
func TestInventoryStaysSmall(t *testing.T) {
	s := &Placement{me: 1, cat: catalog.New(), sent: make(map[storage.ID]bool), reports: make(map[report]int)}
	s.flusher = flush.New(flushing{s}, flush.Options{}) // which is not started
	known := func(id storage.ID) bool { _, ok := s.cat.Facts(id); return ok }
	pending := storage.ID{Version: 7}
	s.flusher.Add(pending)
	for v := uint64(1); v <= 100; v++ {
		id := storage.ID{Version: v}
		s.cat.SetFacts(id, catalog.Facts{Plan: storage.LevelsOf(storage.Local)})
		s.cat.Add(ownKey(id, 1, 8), 0)
		s.sent[id], s.reports[report{verbFlushed, id}] = true, 1
		oldest := uint64(0)
		if v%5 != 0 { // it refers to versions since the last full one
			oldest = v - v%5
		}
		s.forgetOld(id, oldest)
		for base := max(oldest, 1); oldest > 0 && base <= v; base++ {
			require.True(t, known(storage.ID{Version: base}), "version %d refers to %d", v, base)
		}
		require.LessOrEqual(t, len(s.cat.IDs()), 6)
		require.LessOrEqual(t, max(len(s.sent), len(s.reports)), 6)
	}
	require.True(t, known(pending))
	s.flusher.CallOff(pending)
	s.forgetOld(storage.ID{Version: 101}, 0)
	require.False(t, known(pending))
}
