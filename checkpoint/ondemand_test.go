package checkpoint

import (
	"log/slog"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// A version that is asked for by a signal has two lines in the log: who asks, and where it is stored.
func TestAVersionOnDemandIsLogged(t *testing.T) {
	for _, mode := range allModes {
		var log syncBuffer
		p := demand.NewLocal()
		_, _, err := runToEnd(t.Context(), t.TempDir(), p, 100, 1000, func(iter int) {
			if iter == 57 || iter == 58 {
				p.Ask(demand.Demand{Source: "SIGUSR1", Left: demand.NoLimit})
			}
		}, WithAsync(mode), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		require.NoError(t, err)
		said := regexp.MustCompile(`msg="(a version is asked|the version that was asked)[^"]*" checkpoint=loop rank=0 (.*)`).FindAllStringSubmatch(log.String(), -1)
		require.Len(t, said, 4, "%s", log.String())
		var asked, stored []string
		for _, line := range said {
			if line[1] == "a version is asked" {
				asked = append(asked, line[2])
			} else {
				stored = append(stored, line[2])
			}
			require.GreaterOrEqual(t, len(asked), len(stored))
		}
		require.Equal(t, []string{"source=SIGUSR1", "source=SIGUSR1"}, asked)
		require.Equal(t, []string{"version=2 iteration=57 level=pfs source=SIGUSR1", "version=3 iteration=58 level=pfs source=SIGUSR1"}, stored)
	}
}

// What was asked for is stored, and the answer says so, though the version before could not be.
func TestAnAnswerIsNotOfTheVersionBefore(t *testing.T) {
	for _, mode := range []AsyncMode{AsyncCopy, AsyncZeroCopy} {
		a := newAsking(t, t.TempDir(), WithAsync(mode), withFS(fullFor(vfs.OS(), "000001")))
		require.NoError(t, a.cp.UpdateAndWrite(t.Context(), 0, 1), "nobody knows yet")
		id := a.ask(storage.Request{Kind: storage.RequestCheckpoint})
		a.answer(id, storage.AnswerAsked)
		require.ErrorIs(t, a.cp.UpdateAndWrite(t.Context(), 1, 0), syscall.ENOSPC, "of the version before")
		require.EqualValues(t, 2, a.answer(id, storage.AnswerSaved).Version)
	}
}

// The answer names where the version is safe when it is given: the end, and Finish, have brought it home.
func TestAnswersNameTheHomeAtTheEnd(t *testing.T) {
	levels := []Option{WithLevels(storage.Local.Every(1), storage.PFS.Every(100)), WithNodePath(t.TempDir())}
	asked := func(a *asking) string {
		id := a.ask(storage.Request{Kind: storage.RequestCheckpoint})
		a.answer(id, storage.AnswerAsked)
		return id
	}
	a := newAsking(t, t.TempDir(), levels...)
	id := asked(a)
	require.NoError(t, a.cp.UpdateAndWrite(t.Context(), 1, 0))
	require.Equal(t, "local", a.answer(id, storage.AnswerSaved).Level)
	id = asked(a)
	a.point.Ask(end("SIGTERM"))
	require.ErrorIs(t, a.cp.UpdateAndWrite(t.Context(), 2, 0), ErrDeadline)
	got := a.answer(id, storage.AnswerSaved)
	require.Equal(t, "pfs", got.Level)
	require.EqualValues(t, 2, *got.Iteration)

	a = newAsking(t, t.TempDir(), levels...)
	id = asked(a)
	require.NoError(t, a.cp.Finish(t.Context(), 5))
	require.Equal(t, "pfs", a.answer(id, storage.AnswerSaved).Level)
}
