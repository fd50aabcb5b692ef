package checkpoint

// tellAnew says on rank 0 that a job begins anew in which all processes were replaced: none is left that knows of a
// version, and where the directory is gone, or the memory that one was in, no file tells of it either. After a failure
// before the first version that is as it should be.
func (st *starting) tellAnew() {
	at := st.comm.Session().Place()
	replaced := at.Replacement && at.Change == nil || at.Change != nil && len(at.Change.Replaced) == st.comm.Size()
	if !st.root() || !replaced || at.Epoch == 0 || st.line.parent != nil {
		return
	}
	st.log.Warn("all processes were replaced, and there is no version to go on from: the computation begins anew; if one had been written, its directory was deleted or is not mounted, or the memory that it was in is lost",
		"path", st.dir(), "epoch", at.Epoch)
}
