package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// lockLooker calls seen when somebody has looked for a lock.
type lockLooker struct {
	vfs.FS
	seen func()
}

func (l lockLooker) Stat(name string) (fs.FileInfo, error) {
	info, err := l.FS.Stat(name)
	if filepath.Base(name) == filestore.LockName {
		l.seen()
	}
	return info, err
}

// Between a failure and the RestartIfNeeded behind its repair nobody has the lock: who asks the job for something then is heard all the
// same.
func TestAskedDuringARepair(t *testing.T) {
	for _, command := range []string{"halt", "checkpoint"} {
		t.Run(command, func(t *testing.T) {
			base := t.TempDir()
			repaired, looked := make(chan struct{}), make(chan struct{})
			ended := make(chan error, 1)
			go func() { ended <- repairedJob(t, base, repaired, looked) }()
			<-repaired
			was := patience
			patience = time.Minute
			defer func() { patience = was }()
			seen := sync.OnceFunc(func() { close(looked) })
			r := craftOn(t, lockLooker{vfs.OS(), seen}, 0, command, filepath.Join(base, "job"))
			seen()
			require.Equal(t, exitFine, r.code, r.stderr)
			require.Contains(t, r.stderr, "was given back just now")
			if command == "checkpoint" {
				require.Equal(t, exitFine, craft(t, "halt", filepath.Join(base, "job")).code)
			}
			require.ErrorContains(t, <-ended, "craft halt")
		})
	}
}

// repairedJob is a job of two ranks, of which one is lost. Behind the repair it goes on when somebody has looked, until it is halted.
func repairedJob(t *testing.T, base string, repaired chan<- struct{}, looked <-chan struct{}) (ended error) {
	cluster := &afttest.Cluster{Nodes: 2, Dir: t.TempDir()}
	err := cluster.Run(t.Context(), 2, func(ctx context.Context, r *afttest.Rank) error {
		err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			if z.Epoch() > 0 && z.Comm().Rank() == 0 {
				close(repaired)
				select {
				case <-looked:
				case <-ctx.Done():
				}
			}
			cp, err := checkpoint.New("job", z.Comm(), checkpoint.WithPath(base), checkpoint.WithSync(checkpoint.SyncNone), checkpoint.WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				return err
			}
			if err := errors.Join(cp.Add("x", new(int)), cp.Commit(), cp.RestartIfNeeded(ctx, nil)); err != nil {
				return err
			}
			if z.Epoch() == 0 && z.Comm().Rank() == 1 {
				r.Die()
			}
			for iter := 0; ; iter++ {
				if err := cp.UpdateAndWrite(ctx, iter, 1<<30); err != nil {
					return err
				}
				time.Sleep(time.Millisecond) // a step
			}
		})
		if r.Session().Place().Original == 0 {
			ended = err
		}
		return nil
	})
	return errors.Join(ended, err)
}

// What has ended for good is not waited for.
func TestNoWaitForAJobThatHasEnded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	store, err := filestore.New(filestore.Config{Path: filepath.Dir(dir), Name: "job", FS: vfs.OS()})
	require.NoError(t, err)
	require.NoError(t, filestore.MakeDir(store))
	was := patience
	patience = time.Hour
	defer func() { patience = was }()
	now := time.Now()
	for i, r := range []storage.Record{
		{Host: procid.This().Host, PID: deadProcess(t).PID},
		{Host: "elsewhere", PID: 1, Updated: now.Add(-2 * time.Hour)},
		{Host: "elsewhere", PID: 1, End: "end"},
		{Host: "elsewhere", PID: 1, Finished: true},
	} {
		r.Format, r.Attempt, r.Started = 1, "0102030405060708", now.Add(time.Duration(i)*time.Second)
		if r.Updated.IsZero() {
			r.Updated = now
		}
		require.NoError(t, store.Record(t.Context(), r))
		got := craft(t, "halt", dir)
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.stderr, "is not locked", "%+v", r)
		require.NotContains(t, got.stderr, "given back just now", "%+v", r)
	}
}
