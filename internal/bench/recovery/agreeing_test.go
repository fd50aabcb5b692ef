package recovery

import (
	"context"
	"log/slog"
	"math"
	"os"
	"testing"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
)

func BenchmarkAgreeing(b *testing.B) { report(b, "agreeing") }

// agreeing measures what a version costs that somebody asks for, beside one that is due: the difference is
// what it takes until all ranks know at which call they meet.
func (m *measurement) agreeing(ctx context.Context, z *aft.Zone) error {
	c := z.Comm()
	m.result.Ranks = c.Size()
	dir := ""
	if c.Rank() == 0 {
		var err error
		if dir, err = os.MkdirTemp("", "agreeing-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	path, err := comm.BcastBytes(ctx, c, 0, []byte(dir))
	if err != nil {
		return err
	}
	cp, err := checkpoint.New("agreeing", c, checkpoint.WithPath(string(path)), checkpoint.WithSync(checkpoint.SyncNone), checkpoint.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	defer cp.Close()
	x := 0
	if err := cp.Add("x", &x); err != nil {
		return err
	}
	if err := cp.Commit(); err != nil {
		return err
	}
	for iter := 1; iter <= 2*m.rounds; {
		if err := m.timed(ctx, c, "a version that is due", func() error { return cp.UpdateAndWrite(ctx, iter, 1) }); err != nil {
			return err
		}
		iter++
		if err := m.timed(ctx, c, "a version that is asked for", func() error {
			if c.Rank() == 0 {
				checkpoint.RequestVersion("a benchmark")
			}
			before := cp.Stats().VersionsWritten
			for cp.Stats().VersionsWritten == before {
				if err := cp.UpdateAndWrite(ctx, iter, math.MaxInt); err != nil {
					return err
				}
				iter++
				time.Sleep(10 * time.Microsecond) // a step
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return cp.Close()
}
