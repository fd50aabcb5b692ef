package aft_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
)

const delayVariable = "CRAFT_RECOVERY_DELAY"

// computeMain is a program whose ranks compute without a word to each other, and
// look at their context, or wait for rank 1 and go on without it. That one dies.
func computeMain(dir string) error {
	return aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		if z.Epoch() > 0 {
			fmt.Println("again")
			return nil
		}
		// Not a barrier: the first that has passed it may die at once.
		if _, err := z.Comm().Agree(ctx, 1); err != nil {
			return err
		}
		if z.Original() == 1 {
			killMyself(filepath.Join(dir, "killed"))
		}
		if os.Getenv(delayVariable) != "never" {
			<-ctx.Done()
			return ctx.Err()
		}
		_, _, err := comm.Recv(ctx, z.Comm(), 1, 0, make([]int, 1))
		if !errors.Is(err, comm.ErrProcFailed) {
			return fmt.Errorf("a message of the dead: %w", err)
		}
		fmt.Println("through")
		return nil
	}, aft.WithLogger(slog.New(slog.DiscardHandler)))
}

// TestProcessesThatOnlyCompute: survivors of a failure that no operation needs are
// called to the recovery, or run through it.
func TestProcessesThatOnlyCompute(t *testing.T) {
	for delay, says := range map[string]string{"100ms": strings.Repeat("again\n", 4), "never": strings.Repeat("through\n", 3)} {
		t.Run(delay, func(t *testing.T) {
			t.Setenv(delayVariable, delay)
			stdout, stderr, code := launched(t, comm.Policy{}, t.TempDir(), "compute")
			require.Zero(t, code, stderr)
			require.Equal(t, says, stdout)
		})
	}
}

// stubbornMain: rank 2, or all of them, neither communicate nor look at their context
// when another one dies.
func stubbornMain(dir string, all bool) error {
	return aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		if z.Epoch() > 0 {
			fmt.Println("again")
			return nil
		}
		if _, err := z.Comm().Agree(ctx, 1); err != nil {
			return err
		}
		switch {
		case z.Original() == 1:
			killMyself(filepath.Join(dir, "killed"))
		case z.Original() == 2 || all:
			stayHere(dir)
		}
		return comm.Barrier(ctx, z.Comm())
	}, aft.WithLogger(slog.New(slog.DiscardHandler)))
}

// stayHere goes on until the test has seen it in a stack.
func stayHere(dir string) {
	for {
		if _, err := os.Stat(filepath.Join(dir, "seen")); err == nil {
			return
		}
	}
}

// seeker is a log in which the stack of stayHere is looked for.
type seeker struct {
	mu   sync.Mutex
	text strings.Builder
	dir  string
}

func (s *seeker) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if strings.Contains(string(p), "aft_test.stayHere(") {
		return len(p), os.WriteFile(filepath.Join(s.dir, "seen"), nil, 0o600)
	}
	return len(p), nil
}

// TestWhoHoldsUpTheRepairIsNamed, with its stack, long before it is killed; also when
// nobody has come to the repair.
func TestWhoHoldsUpTheRepairIsNamed(t *testing.T) {
	t.Setenv("CRAFT_REPAIR_TIMEOUT", "8s")
	t.Setenv(delayVariable, "100ms")
	for mode, ranks := range map[string]string{
		"stubborn": `"2 \(process 2 on node 0\)"`, "stubborn-all": `"0 \(process 0 on node 0\), 2 \(process 2 on node 0\)"`,
	} {
		t.Run(mode, func(t *testing.T) {
			log := &seeker{dir: t.TempDir()}
			var out strings.Builder
			code, err := launch.Run(t.Context(), launch.Config{
				Program: os.Args[0], Args: []string{log.dir, mode}, Ranks: 3, Stdout: &out, NoSignals: true,
				Logger: slog.New(slog.NewTextHandler(log, nil)),
			})
			require.NoError(t, err, &log.text)
			require.Zero(t, code)
			require.Equal(t, strings.Repeat("again\n", 3), out.String())
			require.Regexp(t, "everybody waits for ranks.*ranks="+ranks+" timeout=8s", log.text.String())
			require.NotContains(t, log.text.String(), "did not come to the repair", log.text.String())
		})
	}
}
