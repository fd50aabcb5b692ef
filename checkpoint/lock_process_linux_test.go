package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

const lockedScenario = "program whose lock others want"

// lockedProgram writes versions until there is a file that says it is enough.
type lockedProgram struct{ Dir string }

func runLocked(arg string) error {
	var p lockedProgram
	if err := json.Unmarshal([]byte(arg), &p); err != nil {
		return err
	}
	code, started, err := launch.Self(context.Background(), 2, func(c *launch.Config) { c.Timing.Lease = time.Minute }) // a rank is stopped
	switch {
	case err != nil:
		return err
	case started:
		os.Exit(code)
	}
	return aft.Run(context.Background(), p.body)
}

func (p lockedProgram) enough() string { return filepath.Join(p.Dir, "enough") }

func (p lockedProgram) body(ctx context.Context, z *aft.Zone) error {
	cp, err := New("job", z.Comm(), WithPath(p.Dir))
	if err != nil {
		return err
	}
	defer cp.Close()
	iter, sum, done := 0, 0, false
	_ = cp.Add("sum", &sum)
	if err := errors.Join(cp.Commit(), cp.RestartIfNeeded(ctx, &iter)); err != nil {
		return err
	}
	if z.Epoch() > 0 && iter == 0 {
		return errors.New("the job has forgotten what it had done")
	}
	mine := filepath.Join(p.Dir, fmt.Sprint("rank-", z.Comm().Rank()))
	if err := os.WriteFile(mine, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	for ; !done; iter++ {
		time.Sleep(time.Millisecond) // it computes
		sum++
		if err := cp.UpdateAndWrite(ctx, iter, 1); err != nil {
			return err
		}
		_, missing := os.Stat(p.enough())
		enough := 0
		if missing == nil {
			enough = 1
		}
		if enough, err = comm.AllreduceOne(ctx, z.Comm(), enough, comm.Max[int]); err != nil {
			return err
		}
		done = enough > 0
	}
	return nil
}

// TestLockOfAJobThatRepairs: the holder of the lock has failed, and its job is about to start another one: nobody else takes the
// directory in between, and the job goes on.
func TestLockOfAJobThatRepairs(t *testing.T) {
	p := lockedProgram{Dir: t.TempDir()}
	arg, err := json.Marshal(p)
	require.NoError(t, err)
	program := testprogram.New(t)
	program.Env = []string{childVariable + "=" + lockedScenario}
	s := program.Start(string(arg))
	pids := make([]int, 2)
	for rank := range pids {
		program.Eventually(func() bool {
			text, _ := os.ReadFile(filepath.Join(p.Dir, fmt.Sprint("rank-", rank)))
			pids[rank], err = strconv.Atoi(string(text))
			return err == nil
		})
	}
	program.Eventually(func() bool {
		_, err := os.Stat(filepath.Join(p.Dir, "job", filestore.LatestName))
		return err == nil
	})
	require.NoError(t, syscall.Kill(pids[1], syscall.SIGSTOP)) // the repair waits for it
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
	program.Eventually(func() bool { return errors.Is(syscall.Kill(pids[0], 0), syscall.ESRCH) })

	sum := 0
	cp, err := New("job", nil, WithPath(p.Dir))
	require.NoError(t, err)
	require.NoError(t, errors.Join(cp.Add("sum", &sum), cp.Commit()))
	err = cp.RestartIfNeeded(t.Context(), nil)
	require.ErrorIs(t, err, storage.ErrLocked)
	require.ErrorContains(t, err, "the daemon of its job")
	require.NoError(t, cp.Close())

	require.NoError(t, os.WriteFile(p.enough(), nil, 0o600))
	require.NoError(t, syscall.Kill(pids[1], syscall.SIGCONT))
	s.End(0)
	program.Gone()
}
