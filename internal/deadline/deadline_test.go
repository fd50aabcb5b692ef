package deadline

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/env"
)

// environment is a getenv for tests.
func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// setting is how much a clock is ahead of what it would show. Any goroutine may change it.
type setting struct{ ahead atomic.Int64 }

func (s *setting) to(d time.Duration) { s.ahead.Store(int64(d)) }
func (s *setting) by(d time.Duration) { s.ahead.Add(int64(d)) }

// at is a clock that shows a time of day when it is made, and can be set.
func at(now time.Time) (clock, *setting) {
	began, set := time.Now(), new(setting)
	return clock{func() time.Time { return now.Add(time.Since(began) + time.Duration(set.ahead.Load())) }}, set
}

func TestBadValuesNameTheVariable(t *testing.T) {
	for _, c := range []struct{ name, value, allowed string }{
		{"CRAFT_DEADLINE", "1h", "+1h"},
		{"CRAFT_DEADLINE", "tomorrow", "18:00"},
		{"CRAFT_GRACE", "25", "25s"},
		{"CRAFT_GRACE", "0", "more than 0"},
		{"CRAFT_GRACE", "-1s", "more than 0"},
		{"CRAFT_NOTICE", "file", "file:PATH"},
		{"CRAFT_NOTICE", "file:", "file:PATH"},
		{"CRAFT_NOTICE", "cmd: ", "cmd:COMMAND"},
		{"CRAFT_NOTICE", "aws:x", "aws, gcp or azure"},
		{"CRAFT_NOTICE", "AWS", "aws, gcp or azure"},
		{"CRAFT_NOTICE", "ibm", "aws, gcp or azure"},
	} {
		_, err := FromEnv(environment(map[string]string{c.name: c.value}))
		var invalid *env.Error
		require.ErrorAs(t, err, &invalid, "%+v", c)
		require.Equal(t, c.name, invalid.Name)
		require.Equal(t, c.value, invalid.Value)
		require.ErrorContains(t, err, c.allowed, "%+v", c)
	}
}

func TestDefaults(t *testing.T) {
	c, err := FromEnv(environment(nil))
	require.NoError(t, err)
	require.Equal(t, DefaultGrace, c.Grace)
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, host, c.Host)
	require.True(t, NewWatcher(c, nil, Job, Node).Idle())

	c, err = FromEnv(environment(map[string]string{"CRAFT_GRACE": "1m30s"}))
	require.NoError(t, err)
	require.Equal(t, 90*time.Second, c.Grace)
}

// TestScopes: each source belongs to the job or to the node.
func TestScopes(t *testing.T) {
	c, err := FromEnv(environment(map[string]string{
		"CRAFT_DEADLINE": "+1h", "CRAFT_NOTICE": "gcp", "SLURM_JOB_ID": "7", "PBS_JOBID": "8.server",
	}))
	require.NoError(t, err)
	c.Host = "n01"
	names := func(scopes ...Scope) (out []string) {
		for _, s := range c.sources(scopes) {
			out = append(out, s.name)
		}
		return out
	}
	require.Equal(t, []string{"CRAFT_DEADLINE", "Slurm", "PBS"}, names(Job))
	require.Equal(t, []string{"CRAFT_NOTICE=gcp on n01"}, names(Node))
	require.Equal(t, []string{"CRAFT_DEADLINE", "Slurm", "PBS", "CRAFT_NOTICE=gcp on n01"}, names(Job, Node))
	require.Empty(t, names())
}

// TestNoticeFilesStayWhereTheyAre when the program changes its directory.
func TestNoticeFilesStayWhereTheyAre(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	c, err := FromEnv(environment(map[string]string{"CRAFT_NOTICE": "file:a:b"}))
	require.NoError(t, err)
	require.Equal(t, "file", c.notice.kind)
	require.Equal(t, filepath.Join(dir, "a:b"), c.notice.argument)
}

// TestADeadlineIsCountedFromTheStart of the program, and a time of day is converted once.
func TestADeadlineIsCountedFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := parseUTC(t, "2026-07-01T10:00:00Z")
		clock, set := at(now)
		began := time.Now()
		time.Sleep(10 * time.Second)
		c, err := fromEnv(environment(map[string]string{"CRAFT_DEADLINE": "+1m"}), clock, began)
		require.NoError(t, err)
		require.Equal(t, 50*time.Second, time.Until(c.fixed))

		c, err = fromEnv(environment(map[string]string{"CRAFT_DEADLINE": "10:01"}), clock, began)
		require.NoError(t, err)
		set.to(-3 * time.Hour)
		require.Equal(t, 50*time.Second, time.Until(c.fixed))
		time.Sleep(time.Minute)
		require.Equal(t, -10*time.Second, time.Until(c.fixed))
	})
}

// TestSettingIsRead: what a launcher hands on to its ranks is what they read.
func TestSettingIsRead(t *testing.T) {
	for _, left := range []time.Duration{90 * time.Minute, 1234567 * time.Microsecond, 0, -time.Second} {
		m, ok := parseMoment(Setting(left), time.Now())
		require.True(t, ok, Setting(left))
		require.Equal(t, max(left, 0).Round(time.Millisecond), m.left)
	}
}

func TestDeadlinesForPeople(t *testing.T) {
	require.Equal(t, "no deadline", Deadline{}.String())
	require.Equal(t, "1m30.1s left (CRAFT_DEADLINE)", Deadline{Left: 90*time.Second + 123*time.Millisecond, Source: "CRAFT_DEADLINE"}.String())
	require.True(t, Deadline{}.None())
	require.False(t, Deadline{Source: "x"}.None())
}
