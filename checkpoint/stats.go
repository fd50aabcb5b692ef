package checkpoint

import "time"

// Stats tells what a checkpoint has done in this run, on this rank.
type Stats struct {
	VersionsWritten int   // complete versions
	BytesWritten    int64 // of this rank's files
	CheckpointTime  time.Duration
	RestartTime     time.Duration
	Restored        bool
	RestoredVersion uint64
}

// Stats returns what has been done so far.
func (cp *Checkpoint) Stats() Stats { return cp.stats }

func (s *Stats) time(total *time.Duration) (stop func()) {
	start := time.Now()
	return func() { *total += time.Since(start) }
}
