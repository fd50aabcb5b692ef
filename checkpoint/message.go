package checkpoint

import "time"

// message reports something that CRAFT_DEBUG or CRAFT_TIMING asks for.
func (c *core) message(text string, attrs ...any) {
	if int(c.comm.Rank()) == c.opt.DebugProc {
		c.log.Info(text, attrs...)
	}
}

// reportVersion tells of a version that is complete or has failed.
func (cp *Checkpoint) reportVersion(f *flight, err error) {
	if cp.opt.Debug == 0 && !cp.opt.Timing {
		return
	}
	attrs := []any{"version", f.header.Version, "iteration", iterationAttr(f.header.Iteration), "mode", cp.opt.mode().String(), "file_bytes", f.done.FileBytes}
	if err != nil {
		attrs = append(attrs, "error", err)
	}
	if p := f.phases; cp.opt.Timing || cp.opt.Debug >= 2 {
		attrs = append(attrs, "update", seconds(p.Update), "copy", seconds(p.Copy), "wait", seconds(p.Wait),
			"write", seconds(p.Write), "settle", seconds(p.Settle),
			"cp_total", seconds(cp.stats.CheckpointTime), "writer_cpu_total", seconds(cp.Stats().WriterCPU))
	}
	cp.message("checkpoint version ended", attrs...)
	if cp.opt.Debug < 3 {
		return
	}
	for _, s := range f.done.sections {
		cp.message("value stored", "version", f.header.Version, "key", s.Key, "description", s.Desc.String(), "type", s.Desc.Type)
	}
}

// reportRestart tells how long a restart took.
func (cp *Checkpoint) reportRestart() {
	if cp.opt.Debug == 0 && !cp.opt.Timing {
		return
	}
	cp.message("restart ended", "restored", cp.stats.Restored, "version", cp.stats.RestoredVersion, "res_total", seconds(cp.stats.RestartTime))
}

func seconds(d time.Duration) float64 { return d.Seconds() }
