package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// A job that runs hears of a halt, and of its end, and everybody is told of it meanwhile.
func TestHalt(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "job")
	t.Setenv("CRAFT_CP_PATH", base)
	_, input := startAsked(t, base)
	r := craft(t, "halt", "--after-checkpoints", "2", "job")
	require.Equal(t, exitFine, r.code, r.stderr)
	require.Contains(t, r.stderr, "is asked to halt, after 2 checkpoints; take it back: craft halt --cancel "+dir)
	first := theRequest(t, dir, storage.AnswerWaiting)
	made := decode[asked](t, exitFine, "halt", "--at", "+1h", dir)
	require.Equal(t, dir, string(made.Path))
	require.WithinDuration(t, time.Now().Add(time.Hour), *made.Request.At, time.Minute)
	list := func() map[string]listedRequest {
		byID := make(map[string]listedRequest)
		for _, r := range decode[requestListing](t, exitFine, "halt", "--list").Requests {
			byID[r.ID] = r
		}
		return byID
	}
	until(t, func() bool { return list()[made.Request.ID].State == "waiting" })
	one := list()[first]
	require.Equal(t, "waiting", one.State)
	require.Equal(t, 2, one.AfterCheckpoints)
	require.Equal(t, whoAsks(), one.By)
	require.Equal(t, made.Job, one.Job)

	require.Contains(t, craft(t, "halt", "--list", dir).stdout, "after 2 checkpoints")
	for _, command := range []string{"ls", "report"} {
		r := craft(t, command, base)
		require.Equal(t, exitFine, r.code)
		require.Contains(t, r.stderr, "checkpoint job: its job is to halt, after 2 checkpoints, asked by "+whoAsks(), command)
	}
	require.Len(t, decode[listing](t, exitFine, "ls", base).Checkpoints[0].Requests, 2)
	require.Len(t, decode[reported](t, exitFine, "report", base).Requests, 2)

	r = craft(t, "halt", "--cancel", made.Job[:shortestJob])
	require.Equal(t, exitFine, r.code, r.stderr)
	require.Contains(t, r.stderr, "goes on: its halt, after 2 checkpoints, is taken back")
	require.Empty(t, leftovers(t, dir))
	require.Contains(t, craft(t, "halt", "--cancel", "job").stderr, "nothing to take back")
	require.Contains(t, craft(t, "halt", "--list").stderr, "no requests to jobs in "+base)

	require.Equal(t, exitFine, craft(t, "halt", "--now", "job").code)
	theRequest(t, dir, storage.AnswerAsked)
	r = craft(t, "halt", "--cancel", "job")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "too late")
	require.NotEmpty(t, leftovers(t, dir))
	require.NoError(t, input.Close())
	until(t, func() bool { l, err := readLock(vfs.OS(), dir); return err == nil && l == nil })
	for _, r := range list() {
		require.Equal(t, requestStale, r.State)
	}
	r = craft(t, "halt", "--cancel", "job")
	require.Equal(t, exitFine, r.code, r.stderr)
	require.Contains(t, r.stderr, "(stale) of checkpoint job")
	require.Empty(t, leftovers(t, dir))
}

// A request to a job does not end the next one; what no job can read is shown, too.
func TestHaltOfAnotherJob(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "job")
	remove := holdLock(t, dir, filestore.Owner{Job: "first", Process: procid.This()})
	require.Equal(t, exitFine, craft(t, "halt", dir).code)
	remove()
	cp, err := openJob(base, "job")
	require.NoError(t, err)
	damaged := filepath.Join(dir, filestore.RequestPrefix+"00000000000000aa.json")
	require.NoError(t, os.WriteFile(damaged, []byte("{"), 0o600))
	states := func() map[string]int {
		n := make(map[string]int)
		for _, r := range decode[requestListing](t, exitFine, "halt", "--list", base).Requests {
			n[r.State]++
		}
		return n
	}
	until(t, func() bool { return states()["failed"] == 1 }) // refused by the job
	require.NoFileExists(t, damaged)
	require.Equal(t, map[string]int{"failed": 1, "stale": 1}, states())
	require.Contains(t, craft(t, "halt", "--list", base).stderr, "is no request that can be carried out")
	require.NoError(t, cp.Close())
	require.NoError(t, os.WriteFile(damaged, []byte("{"), 0o600))
	require.Equal(t, exitFine, craft(t, "halt", "--cancel", dir).code)
	require.Empty(t, leftovers(t, dir))
}

// Others of a group have to be able to read what is left for their job.
func TestRequestsHaveTheModeOfTheLock(t *testing.T) {
	t.Setenv("CRAFT_FILE_MODE", "0660")
	base := t.TempDir()
	cp, err := openJob(base, "job")
	require.NoError(t, err)
	t.Setenv("CRAFT_FILE_MODE", "")
	require.NoError(t, os.Unsetenv("CRAFT_FILE_MODE"))
	p := newProgram(os.Stdin, os.Stdout, os.Stderr)
	files := jobs{p}.requestsOf(filepath.Join(base, "job"))
	_, err = files.Ask(storage.Request{Format: 1, Job: "another", Kind: storage.RequestHalt, By: "me@here"})
	require.NoError(t, err)
	for _, name := range leftovers(t, filepath.Join(base, "job")) {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.EqualValues(t, 0o660, info.Mode().Perm())
	}
	require.NoError(t, cp.Close())
}

func TestParseTime(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 11, 30, 14, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"18:00":                time.Date(2026, 11, 30, 18, 0, 0, 0, zone),
		"13:30":                time.Date(2026, 12, 1, 13, 30, 0, 0, zone),
		"14:00":                time.Date(2026, 12, 1, 14, 0, 0, 0, zone),
		"14:00:01":             now.Add(time.Second),
		"2026-12-24T18:00":     time.Date(2026, 12, 24, 18, 0, 0, 0, zone),
		"2026-12-24 18:00:30":  time.Date(2026, 12, 24, 18, 0, 30, 0, zone),
		"2026-11-30T13:30:00Z": now.Add(30 * time.Minute),
		"+1h30m":               now.Add(90 * time.Minute),
	} {
		got, err := parseTime(text, now)
		require.NoError(t, err, text)
		require.True(t, got.Equal(want), "%s: %v", text, got)
	}
	for _, text := range []string{"", "+", "+0s", "+-1h", "25:00", "2026-11-30T13:00", "2026-11-30T12:59:59Z", "tomorrow"} {
		_, err := parseTime(text, now)
		require.Error(t, err, text)
	}
}
