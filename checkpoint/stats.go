package checkpoint

import "time"

// Stats tells what a checkpoint has done in this run, on this rank.
type Stats struct {
	VersionsWritten int   // complete versions
	VersionsFailed  int   // versions that could not be written
	VersionsSkipped int   // of a nested checkpoint: see SubCP
	BytesWritten    int64 // of this rank's files
	// CheckpointTime is how long the program has waited in UpdateAndWrite,
	// Write, Wait and Close (OH_cp, paper section 5); RestartTime, in
	// RestartIfNeeded (OH_res).
	CheckpointTime time.Duration
	RestartTime    time.Duration
	// RedoTime is how long the program has done iterations again that earlier runs had
	// done, as far as their records tell (OH_redo; 0 with CRAFT_RECORD=0).
	RedoTime time.Duration
	// WriterCPU is the processor time of the background threads: of the writer, and of
	// what this rank does for the storage levels beside the program, the copies and
	// parity of other ranks, flushes and healing. Together,
	// CheckpointTime + WriterCPU / processors is what checkpoints cost.
	WriterCPU time.Duration
	Phases    Phases

	Restored          bool
	RestoredVersion   uint64
	RestoredIteration int64 // or NoIteration
}

// Phases divides the time of a version, or the sum of all. Asynchronous writes
// overlap with the program: only Update, Copy, Wait and Settle are waited for.
type Phases struct {
	Update time.Duration // the values' own Update
	Copy   time.Duration // into the private copy; 0 in synchronous mode
	Wait   time.Duration // for the end of an asynchronous write
	Write  time.Duration // encoding, storing, syncing, publishing
	Settle time.Duration // agreeing with the other ranks, pruning
}

func (p *Phases) add(q Phases) {
	p.Update += q.Update
	p.Copy += q.Copy
	p.Wait += q.Wait
	p.Write += q.Write
	p.Settle += q.Settle
}

// Stats returns what has been done so far. What an asynchronous write did is
// counted when it has been waited for.
func (cp *Checkpoint) Stats() Stats {
	if cp.acc == nil {
		return Stats{}
	}
	return cp.acc.now()
}

// accounts are what a checkpoint has done, and what it has cost, in this run.
type accounts struct {
	*core
	line *lineage

	stats   Stats
	slowest slowest
}

// now are those of this rank until now.
func (a *accounts) now() Stats {
	s := a.stats
	if a.threads != nil {
		s.WriterCPU = a.threads.Used()
	}
	return s
}

func (s *Stats) time(total *time.Duration) (stop func()) {
	start := time.Now()
	return func() { *total += time.Since(start) }
}

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
	attrs := []any{"version", f.header.Version, "iteration", iterationAttr(f.header.Iteration), "mode", string(a.opt.mode()), "file_bytes", f.done.FileBytes}
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

func (a *accounts) reportRestart() {
	if a.opt.Debug == 0 && !a.opt.Timing {
		return
	}
	a.message("restart ended", "restored", a.stats.Restored, "version", a.stats.RestoredVersion, "res_total", a.stats.RestartTime.Seconds())
}
