package program

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"github.com/craft-go/craft/aft/comm"
)

// Processes are the process ids of the ranks. It is collective; when it returns, all others have theirs, too.
func Processes(ctx context.Context, c *comm.Comm) ([]int, error) {
	pids := make([]int, c.Size())
	if err := comm.Allgather(ctx, c, []int{os.Getpid()}, pids); err != nil {
		return nil, err
	}
	// Not a barrier: the first that has passed it kills, and others would fail in it.
	_, err := c.Agree(ctx, 1)
	return pids, err
}

// Kill has rank 0 kill another one by SIGKILL, and returns the error by which this rank gets to know.
func Kill(ctx context.Context, c *comm.Comm, pids []int, victim int) error {
	if c.Rank() == 0 {
		if err := syscall.Kill(pids[victim], syscall.SIGKILL); err != nil {
			return err
		}
	}
	_, _, err := comm.Recv(ctx, c, comm.Rank(victim), 0, []byte{0})
	if err == nil {
		err = fmt.Errorf("rank %d was killed and has sent something", victim)
	}
	return err
}
