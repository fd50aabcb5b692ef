package control

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// rowLimit is what the root may keep of each process that has failed and was replaced, in bytes.
const rowLimit = 200

// TestMemoryOfRepairs: what the root keeps does not grow with the number of repairs.
func TestMemoryOfRepairs(t *testing.T) {
	for _, recovery := range []driver.Recovery{driver.NonShrinking, driver.GlobalRestart} {
		s := running(t, RootConfig{Size: 3, Nodes: nodesOf(2, 0)})
		s.begin(policy(recovery, driver.Reuse), 0, 1, 2)
		ranks := []Proc{0, 1, 2}
		heap := make(map[int]uint64)
		for n := range 1001 {
			if n == 100 || n == 1000 {
				heap[n] = heapAlloc()
			}
			comm, lost := CommID(1+n), n%3
			s.kill(ranks[lost])
			for i, p := range ranks {
				if i != lost {
					s.join(p, Join{Op: OpRepair, Comm: comm, Policy: policy(recovery, driver.Reuse), Step: int64(n)})
				}
			}
			ranks[lost] = Proc(3 + n)
			s.hello(ranks[lost])
			require.Equal(t, ranks, s.made(ranks[lost]).New.Procs)
			s.sent, s.notes, s.starts = nil, nil, nil
			clear(s.where)
			for i, p := range ranks {
				s.where[p] = s.r.members.latest[i].node.id
			}
		}
		perRow := (int64(heap[1000]) - int64(heap[100])) / 900
		t.Logf("%s: %d bytes for each process that was replaced", recovery, perRow)
		require.Less(t, perRow, int64(rowLimit))
		runtime.KeepAlive(s)
	}
}

func heapAlloc() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
