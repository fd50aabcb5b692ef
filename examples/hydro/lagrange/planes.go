package lagrange

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/craft-go/craft/examples/hydro/boxes"
)

// planes calls f for each plane of a box, from several goroutines at once if the mesh has
// Workers: f changes nothing that belongs to another plane. It returns when all have
// returned, and before each plane it looks whether the context has ended. The error is
// that of the lowest plane which has one.
func (m *Mesh) planes(ctx context.Context, box boxes.Box, f func(plane boxes.Box) error) error {
	first, n := box.Lo[0], box.Shape()[0]
	errs := make([]error, n)
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			if errs[i] = context.Cause(ctx); errs[i] != nil {
				return
			}
			if errs[i] = f(box.Plane(first + i)); errs[i] != nil {
				return
			}
		}
	}
	var team sync.WaitGroup
	for range min(m.Workers, n) - 1 {
		team.Go(work)
	}
	work()
	team.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
