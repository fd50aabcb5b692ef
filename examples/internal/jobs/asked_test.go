package jobs

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/env"
	"github.com/stretchr/testify/require"
)

// TestJobThatWasAskedToEnd: one rank says in one line what is left.
func TestJobThatWasAskedToEnd(t *testing.T) {
	end := &checkpoint.DeadlineError{Source: "SIGTERM at n01, process 7", Version: 4, Iteration: 57, Saved: true}
	err := fmt.Errorf("write checkpoint: %w", end)
	for _, c := range []struct {
		role  string
		rank  int
		fresh bool
		says  string
	}{
		{"", 0, false, "prog: the job is to end (SIGTERM at n01, process 7): version 4, of iteration 57, is stored; start it again to go on from there\n"},
		{"", 0, true, "prog: the job is to end (SIGTERM at n01, process 7): version 4, of iteration 57, is stored; start it again to go on from there (without -fresh)\n"},
		{"", 2, false, "prog: the job is to end (SIGTERM at n01, process 7): version 4, of iteration 57, is stored; start it again to go on from there\n"},
		{env.RoleRank, 0, false, "prog: the job is to end (SIGTERM at n01, process 7): version 4, of iteration 57, is stored; start it again to go on from there\n"},
		{env.RoleRank, 2, false, ""},
	} {
		t.Setenv(env.Role, c.role)
		var stderr bytes.Buffer
		f := Flags{program: "prog", Fresh: c.fresh}
		require.Equal(t, checkpoint.ExitRequeue, f.Failed(err, comm.Rank(c.rank), &stderr))
		require.Equal(t, c.says, stderr.String(), "%+v", c)
	}
	require.ErrorIs(t, Tolerate(context.Background(), slog.New(slog.DiscardHandler), 0, err), checkpoint.ErrDeadline)
}

// TestFailureOfAnotherRank: the rank that has failed says it, where that is another process.
func TestFailureOfAnotherRank(t *testing.T) {
	for role, says := range map[string]string{"": "prog: write: rank 3: full\n", env.RoleRank: ""} {
		t.Setenv(env.Role, role)
		var stderr bytes.Buffer
		f := Flags{program: "prog"}
		require.Equal(t, checkpoint.ExitFailed, f.Failed(fmt.Errorf("write: %w", &checkpoint.RankError{Rank: 3, Message: "full"}), 0, &stderr))
		require.Equal(t, says, stderr.String())
	}
}
