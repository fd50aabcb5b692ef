package aft_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testtime"
)

// spareMain needs a while before it comes to its zone, where two ranks die one after the other, when a
// spare rank is there. Who takes a place says how many had died when it came to its zone.
func spareMain(dir string) error {
	time.Sleep(300 * time.Millisecond)
	dead := files(dir, "killed-*")
	mine := filepath.Join(dir, fmt.Sprint("started-", os.Getpid()))
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		return err
	}
	return aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		if z.Replacement() {
			fmt.Println("replacement", z.Original(), "behind", dead)
		}
		if z.Epoch() == 2 {
			return nil
		}
		if _, err := z.Comm().Agree(ctx, 1); err != nil {
			return err
		}
		if int(z.Original()) == 3-z.Epoch() {
			for files(dir, "started-*") < 5+z.Epoch() {
				time.Sleep(time.Millisecond) // the spare one is on its way
			}
			killMyself(filepath.Join(dir, fmt.Sprint("killed-", z.Epoch())))
		}
		<-ctx.Done()
		return ctx.Err()
	}, aft.WithLogger(slog.New(slog.DiscardHandler)))
}

func files(dir, pattern string) int {
	list, _ := filepath.Glob(filepath.Join(dir, pattern))
	return len(list)
}

// TestSpareRanks: one takes the place of a lost rank at once, however long the program needs before its
// zone, another one is started, and the job ends without it.
func TestSpareRanks(t *testing.T) {
	for _, recovery := range []comm.Recovery{comm.NonShrinking, comm.GlobalRestart} {
		t.Run(string(recovery), func(t *testing.T) {
			var log bytes.Buffer
			dir := t.TempDir()
			testtime.Within(t, 60*time.Second, func() {
				stdout, stderr, code := launchedWith(t, launch.Config{
					Program: os.Args[0], Args: []string{dir, "spare"}, Policy: comm.Policy{Recovery: recovery}, SpareRanks: 1,
					Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo})),
				})
				require.Zero(t, code, stderr)
				require.ElementsMatch(t, []string{"replacement 3 behind 0", "replacement 2 behind 1"}, strings.Split(strings.TrimSpace(stdout), "\n"))
			})
			require.Equal(t, 2, strings.Count(log.String(), "a spare rank takes the place"), log.String())
			require.NotContains(t, log.String(), "starting a replacement")
		})
	}
}
