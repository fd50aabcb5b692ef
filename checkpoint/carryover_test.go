package checkpoint

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
)

// TestAttemptsWithoutFilesAreForgotten: where no version is due for a file the end of an attempt is put off to that of the
// job, and holds nothing of the attempts between but their records.
func TestAttemptsWithoutFilesAreForgotten(t *testing.T) {
	const kills = 12
	w := newMemoryWorld(t, 3, 2, "process:1")
	w.until = kills + 2
	var attempts []weak.Pointer[Checkpoint] // of rank 0, which survives
	w.restored = func(p *memoryProgram) error {
		if p.c.Rank() == 0 {
			attempts = append(attempts, weak.Make(p.cp))
		}
		return nil
	}
	w.step = func(p *memoryProgram) error {
		p.z.Step(p.iter)
		if p.epoch() == kills || p.iter < p.epoch()+1 {
			return nil
		}
		if err := comm.Barrier(context.Background(), p.c); err != nil {
			return err
		}
		if p.c.Rank() == 2 {
			p.rank.Die()
		}
		_, err := comm.AllreduceOne(context.Background(), p.c, 0, comm.Sum)
		return err
	}
	w.last = func(p *memoryProgram) error {
		if p.c.Rank() != 0 {
			return nil
		}
		require.Len(t, attempts, kills+1)
		left := func() (there int) {
			runtime.GC()
			for _, cp := range attempts {
				if cp.Value() != nil {
					there++
				}
			}
			return there
		}
		require.LessOrEqual(t, left(), 3, "the first one, this one, and one that something on a stack may hold")
		return nil
	}
	w.run()
}

// TestDemandsAfterARecoveryWithoutFiles: whoever goes on from memory attends to the demands of the job as at its start;
// without it nobody would see a deadline come.
func TestDemandsAfterARecoveryWithoutFiles(t *testing.T) {
	w := newMemoryWorld(t, 3, 2, "process:1")
	w.until = 4
	w.step = func(p *memoryProgram) error {
		if p.epoch() > 0 || p.iter < 2 {
			return nil
		}
		if err := comm.Barrier(context.Background(), p.c); err != nil {
			return err
		}
		if p.c.Rank() == 2 {
			p.rank.Die()
		}
		_, err := comm.AllreduceOne(context.Background(), p.c, 0, comm.Sum)
		return err
	}
	w.restored = func(p *memoryProgram) error {
		require.NotNil(t, p.cp.meet.lane, "attempt %d: calls are not counted", p.epoch())
		require.Equal(t, p.c.Rank() == 0, p.cp.meet.watch.cancel != nil, "attempt %d: rank 0 watches", p.epoch())
		return nil
	}
	w.run()
}
