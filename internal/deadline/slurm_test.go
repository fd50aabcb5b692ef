package deadline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// command puts a script of that name in front of all others.
func command(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

func TestSlurmFormats(t *testing.T) {
	now := parseUTC(t, "2026-10-25T00:40:00Z").In(zone(t, "Europe/Berlin")) // 2:40 for the first time
	for out, want := range map[string]string{
		"2026-10-25T12:00:00\n":     "2026-10-25T11:00:00Z",
		"2026-10-25T02:50:00\n":     "2026-10-25T00:50:00Z",
		"2026-10-25T02:30:00\n":     "2026-10-25T01:30:00Z", // for the second time: the job is running
		"1793000000\n":              "2026-10-26T07:33:20Z",
		"NONE\n":                    "",
		"N/A\n":                     "",
		"Unknown\n":                 "",
		"None":                      "",
		"  2026-10-25T12:00:00  \n": "2026-10-25T11:00:00Z",
		"2026-10-25T12:00:00\n2026-10-25T11:00:00\n": "2026-10-25T10:00:00Z", // components of one job
		"NONE\n2026-10-25T11:00:00\n":                "2026-10-25T10:00:00Z",
	} {
		end, err := parseSlurmEnd(out, now)
		require.NoError(t, err, out)
		if want == "" {
			require.True(t, end.IsZero(), out)
			continue
		}
		require.Equal(t, want, end.UTC().Format(time.RFC3339), out)
	}
	for _, out := range []string{"", "\n", "12:00:00", "Tomorr 12:00", "garbage", "-5", "2026-10-25T12:00:00 x"} {
		_, err := parseSlurmEnd(out, now)
		require.Error(t, err, out)
	}
}

// TestSlurmIsAskedAsItHasToBe: by squeue's own options, for one task of an array alone.
func TestSlurmIsAskedAsItHasToBe(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	command(t, "squeue", `echo "$* $SLURM_TIME_FORMAT" >>`+log+"\necho NONE")
	for _, vars := range []map[string]string{
		{"SLURM_JOB_ID": "17"},
		{"SLURM_JOB_ID": "17", "SLURM_ARRAY_JOB_ID": "12", "SLURM_ARRAY_TASK_ID": "5"},
	} {
		a, err := slurmFromEnv(environment(vars), clock{time.Now}).ask(t.Context())
		require.NoError(t, err)
		require.Equal(t, none, a)
	}
	asked, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "-h -j 17 -o %e %s\n-h -j 12_5 -o %e %s\n", string(asked))
	require.Nil(t, slurmFromEnv(environment(nil), clock{time.Now}))
}

// endOf is the deadline that the variables of Slurm and its squeue give, from now, and who says so.
func endOf(t *testing.T, s *slurm) (time.Duration, string, error) {
	t.Helper()
	a, err := s.ask(t.Context())
	if a == nil {
		return 0, "", err
	}
	return time.Until(a.at), a.by, err
}

const minute = float64(time.Minute) // what may pass in a test on a busy machine

// TestSqueueWins over SLURM_JOB_END_TIME, which is of the start, whether the limit was made longer or
// shorter; also when that has passed.
func TestSqueueWins(t *testing.T) {
	for _, variable := range []time.Duration{time.Hour, 5 * time.Hour, -time.Hour} {
		end := strconv.FormatInt(time.Now().Add(2*time.Hour).Unix(), 10)
		command(t, "squeue", "echo "+end)
		s := slurmFromEnv(environment(map[string]string{
			"SLURM_JOB_ID": "17", "SLURM_JOB_END_TIME": strconv.FormatInt(time.Now().Add(variable).Unix(), 10),
		}), clock{time.Now})
		left, by, err := endOf(t, s)
		require.NoError(t, err)
		require.InDelta(t, 2*time.Hour, left, minute)
		require.Equal(t, "Slurm (squeue)", by)

		command(t, "squeue", "exit 1") // later: what it has said stays
		a, err := s.ask(t.Context())
		require.Error(t, err)
		require.Nil(t, a)
	}
}

// TestSlurmWithoutSqueue believes the variable, until squeue answers.
func TestSlurmWithoutSqueue(t *testing.T) {
	vars := map[string]string{"SLURM_JOB_ID": "17", "SLURM_JOB_END_TIME": strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)}
	for script, problem := range map[string]string{
		"echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1": "Unable to contact",
		"echo":         "does not know the job",
		"echo garbage": `"garbage", which is no time`,
		"kill -9 $$":   "killed",
	} {
		command(t, "squeue", script)
		s := slurmFromEnv(environment(vars), clock{time.Now})
		left, by, err := endOf(t, s)
		require.ErrorContains(t, err, problem)
		require.InDelta(t, time.Hour, left, minute)
		require.Equal(t, "Slurm (SLURM_JOB_END_TIME)", by)

		command(t, "squeue", "date -d '+3 hours' +%Y-%m-%dT%H:%M:%S || date -v+3H +%Y-%m-%dT%H:%M:%S") // local time
		left, by, err = endOf(t, s)
		require.NoError(t, err)
		require.InDelta(t, 3*time.Hour, left, minute)
		require.Equal(t, "Slurm (squeue)", by)
	}

	t.Setenv("PATH", t.TempDir())
	left, by, err := endOf(t, slurmFromEnv(environment(vars), clock{time.Now}))
	require.NoError(t, err) // it is like that in containers
	require.InDelta(t, time.Hour, left, minute)
	require.Equal(t, "Slurm (SLURM_JOB_END_TIME; there is no squeue here)", by)
	delete(vars, "SLURM_JOB_ID")
	left, _, err = endOf(t, slurmFromEnv(environment(vars), clock{time.Now}))
	require.NoError(t, err)
	require.InDelta(t, time.Hour, left, minute)
}

// TestVariablesOfSlurmThatSayNothing: nothing is known then, and the job goes on.
func TestVariablesOfSlurmThatSayNothing(t *testing.T) {
	command(t, "squeue", "exit 1")
	for value, problem := range map[string]string{
		"":                                 "squeue",
		"soon":                             `SLURM_JOB_END_TIME="soon"`,
		fmt.Sprint(time.Now().Unix() - 60): "had passed",
	} {
		a, err := slurmFromEnv(environment(map[string]string{"SLURM_JOB_ID": "17", "SLURM_JOB_END_TIME": value}), clock{time.Now}).ask(t.Context())
		require.Nil(t, a)
		require.ErrorContains(t, err, problem)
		require.ErrorContains(t, err, "squeue: exit status 1")
	}
}

// TestALimitThatHasPassed before the program computes: squeue is asked for it where the variable says so, and nowhere else.
func TestALimitThatHasPassed(t *testing.T) {
	for _, c := range []struct {
		variable time.Duration // from now; 0: it is not set
		squeue   string
		asked    bool
		by       string
	}{
		{-time.Minute, "echo $(($(date +%s) - 60))", true, "Slurm (squeue)"},
		{-time.Minute, "echo $(($(date +%s) + 3600))", true, ""}, // it was made longer
		{-time.Minute, "echo NONE", true, ""},
		{-time.Minute, "exit 1", true, ""}, // nobody enforces it
		{time.Hour, "echo $(($(date +%s) - 60))", false, ""},
		{0, "echo $(($(date +%s) - 60))", false, ""},
	} {
		mark := filepath.Join(t.TempDir(), "asked")
		command(t, "squeue", "touch "+mark+"\n"+c.squeue)
		vars := map[string]string{"SLURM_JOB_ID": "17"}
		if c.variable != 0 {
			vars["SLURM_JOB_END_TIME"] = fmt.Sprint(time.Now().Add(c.variable).Unix())
		}
		config, err := FromEnv(environment(vars))
		require.NoError(t, err)
		at := config.Passed(t.Context())
		require.Equal(t, c.by, at.Source, "%+v", c)
		require.LessOrEqual(t, at.Left, time.Duration(0))
		_, err = os.Stat(mark)
		require.Equal(t, c.asked, err == nil, "%+v", c)
	}
	config, err := FromEnv(environment(map[string]string{"CRAFT_DEADLINE": "2020-01-01 00:00"}))
	require.NoError(t, err)
	require.Equal(t, "CRAFT_DEADLINE", config.Passed(t.Context()).Source)
}

// TestALimitThatPassesBeforeTheFirstQuestion counts as it does for the watcher, which believes the variable while squeue does not answer.
func TestALimitThatPassesBeforeTheFirstQuestion(t *testing.T) {
	command(t, "squeue", "exit 1")
	config, err := FromEnv(environment(map[string]string{"SLURM_JOB_ID": "17", "SLURM_JOB_END_TIME": fmt.Sprint(time.Now().Add(time.Hour).Unix())}))
	require.NoError(t, err)
	require.True(t, config.Passed(t.Context()).None())
	config.slurm.initial = time.Now()
	require.Equal(t, "Slurm (SLURM_JOB_END_TIME)", config.Passed(t.Context()).Source)
}

// TestASqueueThatHangs is killed after half of what the variable leaves, at the latest.
func TestASqueueThatHangs(t *testing.T) {
	command(t, "squeue", "sleep 1000 & sleep 1000")
	s := slurmFromEnv(environment(map[string]string{"SLURM_JOB_ID": "17", "SLURM_JOB_END_TIME": fmt.Sprint(time.Now().Add(time.Hour).Unix())}), clock{time.Now})
	require.Equal(t, queueTimeout, s.patience())
	s.initial = time.Now().Add(40 * time.Second)
	require.InDelta(t, 20*time.Second, s.patience(), float64(9*time.Second))
	s.initial = time.Now()
	_, by, err := endOf(t, s)
	require.ErrorContains(t, err, "was killed")
	require.Equal(t, "Slurm (SLURM_JOB_END_TIME)", by)
	s.asked = true
	require.Equal(t, queueTimeout, s.patience())
}

// TestAClockThatIsSet between two answers of squeue that are the same changes nothing.
func TestAClockThatIsSet(t *testing.T) {
	c, set := at(time.Now())
	command(t, "squeue", fmt.Sprint("echo ", time.Now().Add(time.Hour).Unix()))
	s := slurmFromEnv(environment(map[string]string{"SLURM_JOB_ID": "17"}), c)
	first, err := s.ask(t.Context())
	require.NoError(t, err)
	set.to(40 * time.Minute)
	second, err := s.ask(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, second)
}

// TestCommandsAreKilledWithTheirGroup, whoever of it has the output.
func TestCommandsAreKilledWithTheirGroup(t *testing.T) {
	for _, script := range []string{
		"sleep 1000 & echo $! >PID; wait", // does not end
		"sleep 1000 & echo $! >PID",       // ends, and leaves somebody who holds the output
	} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := run(ctx, nil, "/bin/sh", "-c", "cd "+dir+"; "+script)
			done <- err
		}()
		var pid int
		require.Eventually(t, func() bool {
			b, err := os.ReadFile(filepath.Join(dir, "PID"))
			_, scan := fmt.Sscan(string(b), &pid)
			return err == nil && scan == nil
		}, time.Minute, time.Millisecond)
		if script[len(script)-4:] == "wait" {
			cancel()
		}
		require.Error(t, <-done)
		cancel()
		require.Eventually(t, func() bool { return gone(pid) }, time.Minute, time.Millisecond)
	}
}

func TestOutputIsBounded(t *testing.T) {
	out, err := run(t.Context(), nil, "/bin/sh", "-c", "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2")
	require.NoError(t, err)
	require.Len(t, out, maxOutput)
}

func TestErrorsOfCommandsSayWhatTheySaid(t *testing.T) {
	_, err := run(t.Context(), nil, "/bin/sh", "-c", "echo first >&2; echo second >&2; exit 3")
	require.EqualError(t, err, "/bin/sh: exit status 3: first")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = run(ctx, nil, "/bin/sh", "-c", "sleep 1000")
	require.EqualError(t, err, "/bin/sh has not ended in time, and was killed")
	require.False(t, errors.Is(err, context.Canceled))
}
