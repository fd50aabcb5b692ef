package deadline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNoSourceLooksAtTheClockAgain: what tells an end as a time of day is turned into time left at once. Whatever the clock is
// set to then, and how often, the end stays where it was, and nothing new is told.
func TestNoSourceLooksAtTheClockAgain(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // there is no squeue, as in containers
	for name, variable := range map[string]func(end time.Time) string{
		"CRAFT_DEADLINE":     func(end time.Time) string { return end.Format(time.RFC3339) },
		"SLURM_JOB_END_TIME": func(end time.Time) string { return fmt.Sprint(end.Unix()) },
	} {
		for _, jump := range []time.Duration{-24 * time.Hour, -30 * time.Minute, 30 * time.Minute, 24 * time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				now := parseUTC(t, "2026-07-01T10:00:00Z")
				clock, set := at(now)
				vars := map[string]string{name: variable(now.Add(time.Hour))}
				if name != "CRAFT_DEADLINE" {
					vars["SLURM_JOB_ID"] = "17" // so that it is asked again and again
				}
				c, err := fromEnv(environment(vars), clock, time.Now())
				require.NoError(t, err)
				set.to(jump) // before anything is asked
				w := watch(t, c.sources([]Scope{Job})...)
				told := w.next(0)
				require.Len(t, told, 1, "%s %v", name, jump)
				require.Equal(t, time.Hour, told[0].Left, "%s %v", name, jump)
				for range 5 {
					set.by(jump)
					require.Empty(t, w.next(10*time.Minute), "%s %v", name, jump)
				}
			})
		}
	}
}

// TestSqueueIsAskedAllTheTime: each change of the limit is told within minutes, also back to what it was before, and that there is
// none any more; and nothing but that, when clocks are set.
func TestSqueueIsAskedAllTheTime(t *testing.T) {
	dir := t.TempDir()
	answer, log := filepath.Join(dir, "answer"), filepath.Join(dir, "log")
	command(t, "squeue", "echo asked >>"+log+"; cat "+answer)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		clock, set := at(began)
		says := func(text string) { require.NoError(t, os.WriteFile(answer, []byte(text+"\n"), 0o600)) }
		limit := func(d time.Duration) string { return fmt.Sprint(began.Add(d).Unix()) }
		says(limit(10 * time.Hour))
		c, err := fromEnv(environment(map[string]string{"SLURM_JOB_ID": "17"}), clock, began)
		require.NoError(t, err)
		w := watch(t, c.sources([]Scope{Job})...)
		told := w.next(0)
		require.Len(t, told, 1)
		require.InDelta(t, 10*time.Hour, told[0].Left, float64(time.Second))
		const most = 2 * limitInterval
		for _, d := range []time.Duration{5 * time.Hour, 9 * time.Hour, 5 * time.Hour} {
			require.Empty(t, w.next(most))
			says(limit(d))
			told = w.next(most)
			require.Len(t, told, 1, d)
			require.Equal(t, "Slurm (squeue)", told[0].Source)
			require.InDelta(t, d-time.Since(began), told[0].Left, float64(most), d)
		}
		set.to(-3 * time.Hour)
		require.Empty(t, w.next(most), "the same limit is the same end")
		says("NONE")
		require.Equal(t, []Deadline{{}}, w.next(most))
		w.cancel()
		<-w.ended
		asked, err := os.ReadFile(log)
		require.NoError(t, err)
		elapsed := int(time.Since(began) / limitInterval)
		require.LessOrEqual(t, strings.Count(string(asked), "asked"), elapsed+1, "every few minutes, and not more often")
		require.Greater(t, strings.Count(string(asked), "asked"), elapsed*8/10)
	})
}
