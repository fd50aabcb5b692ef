package deadline

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// noticeSource is the source of a value of CRAFT_NOTICE, with a grace of 17 minutes.
func noticeSource(t *testing.T, value string, change ...func(*Config)) source {
	t.Helper()
	c, err := FromEnv(environment(map[string]string{"CRAFT_NOTICE": value, "CRAFT_GRACE": "17m"}))
	require.NoError(t, err)
	c.Host = "n01"
	for _, f := range change {
		f(&c)
	}
	return c.ofNode()
}

// ask asks a source, which must answer.
func ask(t *testing.T, s source) (*answer, error) {
	t.Helper()
	a, err := s.ask(t.Context())
	require.NotNil(t, a, "%v", err)
	return a, err
}

func requireLeft(t *testing.T, want time.Duration, a *answer) {
	t.Helper()
	require.False(t, a.at.IsZero())
	require.InDelta(t, want, time.Until(a.at), minute)
}

// notices are what a file may contain and a command may print, and what that leaves.
func notices() map[string]time.Duration {
	return map[string]time.Duration{
		"":       17 * time.Minute,
		"  \n":   17 * time.Minute,
		"2h\n":   2 * time.Hour,
		"+3h30m": 210 * time.Minute,
		time.Now().Add(4*time.Hour).UTC().Format(time.RFC3339) + "\n":  4 * time.Hour,
		time.Now().Add(5*time.Hour).Format("2006-01-02 15:04:05") + "": 5 * time.Hour,
	}
}

func TestNoticeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notice")
	s := noticeSource(t, "file:"+path)
	for text, left := range notices() {
		a, err := ask(t, s)
		require.NoError(t, err)
		require.Equal(t, none, a)

		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		first, err := ask(t, s)
		require.NoError(t, err, text)
		requireLeft(t, left, first)
		require.Equal(t, strings.TrimSpace(text) == "", first.unsaid)
		require.Equal(t, "CRAFT_NOTICE=file:"+path+" on n01", first.by)

		again, err := ask(t, s)
		require.NoError(t, err)
		require.Equal(t, first, again) // it does not move while it says the same
		require.NoError(t, os.Remove(path))
	}

	// The same notice once more, after there was none, is another one.
	appear := func() *answer {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		a, err := ask(t, s)
		require.NoError(t, err)
		require.NoError(t, os.Remove(path))
		return a
	}
	first := appear()
	_, err := ask(t, s)
	require.NoError(t, err)
	require.True(t, appear().at.After(first.at))
}

// TestNoticeFilesThatChange: a time that is written into it later, another one, and none any more.
func TestNoticeFilesThatChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notice")
	s := noticeSource(t, "file:"+path)
	for text, left := range map[string]time.Duration{"": 17 * time.Minute, "2h": 2 * time.Hour, "50m": 50 * time.Minute} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		a, err := ask(t, s)
		require.NoError(t, err)
		requireLeft(t, left, a)
	}
	require.NoError(t, os.Remove(path))
	a, err := ask(t, s)
	require.NoError(t, err)
	require.Equal(t, none, a)
}

// TestNoticeFilesThatSayNothing are notices all the same: garbage, a directory, a pipe that nobody
// writes to.
func TestNoticeFilesThatSayNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "garbage")
	require.NoError(t, os.WriteFile(path, make([]byte, 1<<20), 0o600))
	a, err := ask(t, noticeSource(t, "file:"+path))
	require.ErrorContains(t, err, "neither a time nor a time left")
	require.Less(t, len(err.Error()), 400)
	requireLeft(t, 17*time.Minute, a)

	a, err = ask(t, noticeSource(t, "file:"+dir))
	require.NoError(t, err)
	requireLeft(t, 17*time.Minute, a)

	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	a, err = ask(t, noticeSource(t, "file:"+pipe))
	require.NoError(t, err)
	requireLeft(t, 17*time.Minute, a)
}

// TestNoticeFilesThatCannotBeLookedFor: nothing is known, and that is said.
func TestNoticeFilesThatCannotBeLookedFor(t *testing.T) {
	loop := filepath.Join(t.TempDir(), "loop")
	require.NoError(t, os.Symlink(loop, loop))
	a, err := noticeSource(t, "file:"+loop).ask(t.Context())
	require.ErrorIs(t, err, syscall.ELOOP)
	require.Nil(t, a)
}

func TestNoticeCommands(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	s := noticeSource(t, "cmd:test -e "+said+" && cat "+said)
	require.Equal(t, "CRAFT_NOTICE=cmd:test -e "+said+" && cat "+said+" on n01", s.name)
	for text, left := range notices() {
		a, err := ask(t, s)
		require.NoError(t, err)
		require.Equal(t, none, a)

		require.NoError(t, os.WriteFile(said, []byte(text), 0o600))
		first, err := ask(t, s)
		require.NoError(t, err, text)
		requireLeft(t, left, first)
		again, err := ask(t, s)
		require.NoError(t, err)
		require.Equal(t, first, again)
		require.NoError(t, os.Remove(said))
	}

	a, err := ask(t, noticeSource(t, "cmd:echo preempted!"))
	require.ErrorContains(t, err, `"preempted!"`)
	requireLeft(t, 17*time.Minute, a)

	a, err = ask(t, noticeSource(t, "cmd:echo 2h; sleep 1000 &")) // and leaves somebody with its output
	require.NoError(t, err)
	requireLeft(t, 2*time.Hour, a)
}

// TestNoticeCommandsThatFail know nothing.
func TestNoticeCommandsThatFail(t *testing.T) {
	for command, problem := range map[string]string{
		"exit 2":                         "exit status 2",
		"echo 2h; exit 3":                "exit status 3",
		"/there/is/no/such/program":      "exit status 127",
		"kill -9 $$":                     "killed",
		"echo no permission >&2; exit 7": "no permission",
	} {
		a, err := noticeSource(t, "cmd:"+command).ask(t.Context())
		require.ErrorContains(t, err, problem, command)
		require.Nil(t, a, command)
	}
}

// TestANoticeInLocalTimeAndAClockThatIsSet: it is converted once.
func TestANoticeInLocalTimeAndAClockThatIsSet(t *testing.T) {
	c, set := at(time.Now())
	s := noticeSource(t, "cmd:echo "+time.Now().Add(time.Hour).UTC().Format(time.RFC3339), func(cfg *Config) { cfg.clock = c })
	first, err := ask(t, s)
	require.NoError(t, err)
	set.to(-2 * time.Hour)
	again, err := ask(t, s)
	require.NoError(t, err)
	require.Equal(t, first, again)
}
