package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
)

// lockInfo describes the lock of a checkpoint.
type lockInfo struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
	Job  string `json:"job"`
	// State is "alive" or "dead" for a process of this host, "unknown" for one
	// of another host, boot or container, and in a copy of a locked directory.
	State    string     `json:"state"`
	Since    *time.Time `json:"since"`
	LastSign *time.Time `json:"last_sign"` // of life

	owner filestore.Owner
}

// readLock returns nil if there is no lock.
func readLock(fsys vfs.FS, dir string) (*lockInfo, error) {
	info, err := fsys.Stat(filepath.Join(dir, filestore.LockName))
	var owner filestore.Owner
	var state filestore.ProcessState
	if err == nil {
		owner, state, err = filestore.ReadOwner(fsys, dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, vfs.Dangling(fsys, filepath.Join(dir, filestore.LockName))
	}
	if err != nil {
		return nil, err
	}
	l := &lockInfo{State: "unknown", LastSign: documentTime(info.ModTime()), owner: owner}
	o := l.owner
	if o.Process.PID == 0 {
		return l, nil
	}
	l.PID, l.Host, l.Job, l.Since = o.Process.PID, o.Process.Host, o.Job, documentTime(o.Since)
	switch state {
	case filestore.ProcessAlive:
		l.State = "alive"
	case filestore.ProcessDead:
		l.State = "dead"
	}
	return l, nil
}

// String is a cell of a table.
func (l *lockInfo) String() string {
	switch {
	case l == nil:
		return "-"
	case l.Host == "":
		return "unknown owner"
	}
	return fmt.Sprintf("%d@%s %s", l.PID, l.Host, l.State)
}
