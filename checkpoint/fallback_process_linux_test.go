package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testprocess"
)

// poisonedScenario is a program of which a version kills whatever goes on from it.
const poisonedScenario = "poisoned"

// runPoisoned is main of it; spoilt says whether all versions are such.
func runPoisoned(arg string) int {
	dir, spoilt := strings.CutPrefix(arg, "all:")
	code, started, err := launch.Self(context.Background(), 2, func(c *launch.Config) { c.FallBack = true })
	if started {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return code
	}
	err = aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) (err error) {
		bad, sum := false, 0
		cp, err := New("poisoned", z.Comm(), WithPath(dir))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, cp.Close()) }()
		if err := errors.Join(cp.Add("bad", &bad), cp.Add("sum", &sum), cp.Commit()); err != nil {
			return err
		}
		iter := 0
		if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
			return err
		}
		if z.Comm().Rank() == 0 {
			fmt.Fprintln(os.Stderr, "begins with iteration", iter)
		}
		for ; iter < 20; iter++ {
			sum += iter
			if iter == 7 && z.Comm().Rank() == 1 {
				_, err := os.Stat(filepath.Join(dir, "spoilt"))
				bad = err != nil || spoilt
				_ = os.WriteFile(filepath.Join(dir, "spoilt"), nil, 0o600)
			}
			if iter == 12 && bad {
				os.Exit(3)
			}
			if err := cp.UpdateAndWrite(ctx, iter, 5); err != nil {
				return err
			}
			z.Step(iter)
		}
		if z.Comm().Rank() == 0 {
			fmt.Println("sum", sum)
		}
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return ExitCode(err)
}

// TestFallBack: a job that dies again and again behind one version goes back to the one before it, once, and deletes
// nothing; if it dies there too, it ends.
func TestFallBack(t *testing.T) {
	mark := testprocess.Mark(t)
	for _, all := range []bool{false, true} {
		dir := t.TempDir()
		arg := dir
		if all {
			arg = "all:" + dir
		}
		cmd := exec.Command(os.Args[0], arg)
		cmd.Env = append(os.Environ(), childVariable+"="+poisonedScenario, "CRAFT_KEEP=5")
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		mark.NoneLeft(t)
		text := stderr.String()
		var begins []string
		for _, line := range strings.Split(text, "\n") {
			if iter, is := strings.CutPrefix(line, "begins with iteration "); is {
				begins = append(begins, iter)
			}
		}
		entries, _ := filepath.Glob(filepath.Join(dir, "poisoned", "v-000003-*"))
		require.Len(t, entries, 1, "what was passed over stays")
		if all {
			require.Error(t, err, text)
			require.Equal(t, []string{"0", "11", "11", "6", "11", "11"}, begins, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, "sum 190\n", stdout.String())
		require.Equal(t, []string{"0", "11", "11", "6"}, begins, text)
	}
}
