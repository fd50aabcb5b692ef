package checkpoint

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
)

// tellAnew says on rank 0 that a job begins anew of whose first processes none is left, lost in one failure or in
// several: nobody knows of a version, and where the directory is gone, or the memory that one was in, no file tells of
// it either. After a failure before the first version that is as it should be. All ranks call it.
func (st *starting) tellAnew(ctx context.Context) error {
	at := st.comm.Session().Place()
	if at.Epoch == 0 || st.line.parent != nil {
		return nil
	}
	first, err := comm.AllreduceOne(ctx, st.comm, at.Joined, comm.Min[int])
	if err != nil || first == 0 || !st.root() {
		return err
	}
	st.log.Warn("all processes were replaced, and there is no version to go on from: the computation begins anew; if one had been written, its directory was deleted or is not mounted, or the memory that it was in is lost",
		"path", st.dir(), "epoch", at.Epoch)
	return nil
}
