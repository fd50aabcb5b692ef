package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/storage/filestore"
)

func lock(t *testing.T, dir string, o filestore.Owner, sign time.Time) {
	data, err := json.Marshal(o)
	require.NoError(t, err)
	name := filepath.Join(dir, filestore.LockName)
	require.NoError(t, os.WriteFile(name, append(data, '\n', '.'), 0o600))
	require.NoError(t, os.Chtimes(name, sign, sign))
}

// deadProcess is one that has ended.
func deadProcess(t *testing.T) procid.ID {
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	p := procid.This()
	p.PID, p.Start = cmd.Process.Pid, "1"
	return p
}

// beat gives signs of life as another host would, and lets craft watch for long.
func beat(t *testing.T, dir string) (stop func()) {
	was := patience
	patience = 15 * time.Second
	ctx, cancel := context.WithCancel(t.Context())
	var beating sync.WaitGroup
	beating.Go(func() {
		f, err := os.OpenFile(filepath.Join(dir, filestore.LockName), os.O_APPEND|os.O_WRONLY, 0)
		for err == nil && ctx.Err() == nil {
			_, err = f.Write([]byte("."))
			time.Sleep(time.Millisecond)
		}
	})
	return func() { patience = was; cancel(); beating.Wait() }
}

func TestUnlock(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 1, 1)
	dir := filepath.Join(base, "c")
	alive, dead := procid.This(), deadProcess(t)
	foreign := procid.ID{Host: "elsewhere", PID: 1}
	for _, c := range []struct {
		name  string
		owner procid.ID
		sign  time.Duration // ago, by the clock of who wrote it
		state string
		says  string // the refusal; "": none
	}{
		{"alive", alive, time.Hour, "alive", "and it is alive"},
		{"dead", dead, 0, "dead", ""},
		{"another host, busy", foreign, time.Hour, "unknown", "and it is alive"},
		{"another host, silent", foreign, -time.Hour, "unknown", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			lock(t, dir, filestore.Owner{Process: c.owner, Since: time.Now()}, time.Now().Add(-c.sign))
			require.Equal(t, c.state, decode[listing](t, exitFine, "ls", base).Checkpoints[0].Lock.State)
			if c.owner == foreign && c.says != "" {
				defer beat(t, dir)()
			}
			r := craft(t, "unlock", dir)
			if c.says != "" {
				require.Equal(t, exitFailed, r.code)
				require.Contains(t, r.stderr, c.says)
				require.FileExists(t, filepath.Join(dir, filestore.LockName))
				r = craft(t, "unlock", "--force", dir)
			}
			require.Equal(t, exitFine, r.code)
			require.Contains(t, r.stderr, "removed the lock of process")
			require.Contains(t, r.stderr, c.owner.Host)
			require.NoFileExists(t, filepath.Join(dir, filestore.LockName))
		})
	}
	r := craft(t, "unlock", dir)
	require.Equal(t, exitFine, r.code)
	require.Contains(t, r.stderr, "is not locked")
}
