package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
)

// farFuture is no date of RFC 3339, and so of no JSON document.
var farFuture = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)

// brokenClock has stamped all files.
type brokenClock struct{ vfs.FS }

func (b brokenClock) Stat(name string) (fs.FileInfo, error) {
	info, err := b.FS.Stat(name)
	if err != nil {
		return nil, err
	}
	return stampedFile{info}, nil
}

type stampedFile struct{ fs.FileInfo }

func (stampedFile) ModTime() time.Time { return farFuture }

func TestDocumentTime(t *testing.T) {
	zone := time.FixedZone("", -3600)
	for when, known := range map[time.Time]bool{
		{}: false, farFuture: false, time.Unix(0, 0): true, time.Date(9999, 12, 31, 22, 59, 59, 0, zone): true,
		time.Date(9999, 12, 31, 23, 0, 0, 0, zone): false, time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC): false,
	} {
		got := documentTime(when)
		require.Equal(t, known, got != nil, "%v", when)
		_, err := json.Marshal(got)
		require.NoError(t, err)
	}
}

// A strange time costs that time alone, not the document.
func TestStrangeTimes(t *testing.T) {
	l := newLevelled(t)
	l.run(t, "local", 1, nil)
	lock(t, l.dir, filestore.Owner{Process: procid.This(), Since: time.Date(9999, 12, 31, 23, 30, 0, 0, time.FixedZone("", -3600))}, time.Now())
	clock := brokenClock{vfs.OS()}
	for _, command := range [][]string{{"ls", l.base}, {"node", "ls", "--node-path", l.nodes}, {"node", "clean", "--dry-run", "--node-path", l.nodes}} {
		r := craftOn(t, clock, 0, append(command, "--json")...)
		require.Equal(t, exitFine, r.code, "%v: %s", command, r.stderr)
		require.True(t, json.Valid([]byte(r.stdout)))
		require.Equal(t, exitFine, craftOn(t, clock, 0, command...).code)
	}
	r := craftOn(t, clock, 0, "ls", l.base, "--json")
	var listed listing
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &listed))
	require.Len(t, listed.Checkpoints[0].Versions, 1)
	require.NotNil(t, listed.Checkpoints[0].Versions[0].Created)
	require.Equal(t, "alive", listed.Checkpoints[0].Lock.State)
	require.Nil(t, listed.Checkpoints[0].Lock.Since)
	require.Nil(t, listed.Checkpoints[0].Lock.LastSign)
}

func TestShowStrangeTime(t *testing.T) {
	var file bytes.Buffer
	e, err := container.NewEncoder(container.Options{})
	require.NoError(t, err)
	_, err = e.Encode(t.Context(), &file, container.Header{Name: "c", Version: 1, Size: 1, Created: farFuture, Attempt: container.AttemptID{1}}, nil)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
	require.Nil(t, decode[shownVersion](t, exitFine, "show", path).Created)
	require.Regexp(t, `(?m)^created +-$`, craft(t, "show", path).stdout)
}
