package jobs

import (
	"context"
	"hash/fnv"
	"io"
	"os"
	"runtime"

	"github.com/craft-go/craft/aft/comm"
)

// Cores is the number of processors for each rank of this machine, at least 1.
// It is collective.
func Cores(ctx context.Context, c comm.Comm) (int, error) {
	name, err := os.Hostname()
	if err != nil {
		name = "" // as if all ranks were on one machine
	}
	h := fnv.New64a()
	io.WriteString(h, name)
	mine := h.Sum64()
	all := make([]uint64, c.Size())
	if err := comm.Allgather(ctx, c, []uint64{mine}, all); err != nil {
		return 0, err
	}
	here := 0
	for _, other := range all {
		if other == mine {
			here++
		}
	}
	return max(1, runtime.GOMAXPROCS(0)/here), nil
}
