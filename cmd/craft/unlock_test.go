package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/filestore"
)

func lock(t *testing.T, dir string, o filestore.Owner, sign time.Time) {
	data, err := json.Marshal(o)
	require.NoError(t, err)
	name := filepath.Join(dir, filestore.LockName)
	require.NoError(t, os.WriteFile(name, append(data, '\n', '.'), 0o600))
	require.NoError(t, os.Chtimes(name, sign, sign))
}

func TestUnlock(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 1, 1)
	dir := filepath.Join(base, "c")
	alive := filestore.ThisProcess()
	dead := alive
	dead.Boot = "an earlier one"
	foreign := filestore.Process{Host: "elsewhere", PID: 1}
	for _, c := range []struct {
		name  string
		owner filestore.Process
		sign  time.Duration // ago
		state string
		says  string // the refusal; "": none
	}{
		{"alive", alive, time.Hour, "alive", "is alive on this host"},
		{"dead", dead, 0, "dead", ""},
		{"another host, busy", foreign, time.Second, "unknown", "sign of life"},
		{"another host, silent", foreign, time.Hour, "unknown", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			lock(t, dir, filestore.Owner{Process: c.owner, Since: time.Now()}, time.Now().Add(-c.sign))
			require.Equal(t, c.state, decode[listing](t, exitFine, "ls", base).Checkpoints[0].Lock.State)
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
