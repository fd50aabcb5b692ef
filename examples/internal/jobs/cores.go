package jobs

import (
	"context"
	"os"
	"runtime"

	"github.com/craft-go/craft/aft/comm"
)

// Cores is the number of processors for each rank of this machine, at least 1.
// It is collective.
func Cores(ctx context.Context, c *comm.Comm) (int, error) {
	name, _ := os.Hostname() // if it has none: as if all ranks were on one machine
	all, err := comm.AllgatherBytes(ctx, c, []byte(name))
	if err != nil {
		return 0, err
	}
	here := 0
	for _, other := range all {
		if string(other) == name {
			here++
		}
	}
	return max(1, runtime.GOMAXPROCS(0)/here), nil
}
