package checkpoint

// message reports something that CRAFT_DEBUG or CRAFT_TIMING asks for.
func (c *core) message(text string, attrs ...any) {
	if int(c.comm.Rank()) == c.opt.DebugProc {
		c.log.Info(text, attrs...)
	}
}

// reportVersion tells of a version that is complete or has failed.
func (a *accounts) reportVersion(f *flight, err error) {
	if a.opt.Debug == 0 && !a.opt.Timing {
		return
	}
	attrs := []any{"version", f.header.Version, "iteration", iterationAttr(f.header.Iteration), "mode", a.opt.mode().String(), "file_bytes", f.done.FileBytes}
	if err != nil {
		attrs = append(attrs, "error", err)
	}
	if p := f.phases; a.opt.Timing || a.opt.Debug >= 2 {
		attrs = append(attrs, "update", p.Update.Seconds(), "copy", p.Copy.Seconds(), "wait", p.Wait.Seconds(),
			"write", p.Write.Seconds(), "settle", p.Settle.Seconds(),
			"cp_total", a.stats.CheckpointTime.Seconds(), "writer_cpu_total", a.now().WriterCPU.Seconds())
	}
	a.message("checkpoint version ended", attrs...)
	if a.opt.Debug < 3 {
		return
	}
	for _, s := range f.done.sections {
		a.message("value stored", "version", f.header.Version, "key", s.Key, "description", s.Desc.String(), "type", s.Desc.Type)
	}
}

// reportRestart tells how long a restart took.
func (a *accounts) reportRestart() {
	if a.opt.Debug == 0 && !a.opt.Timing {
		return
	}
	a.message("restart ended", "restored", a.stats.Restored, "version", a.stats.RestoredVersion, "res_total", a.stats.RestartTime.Seconds())
}
