package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
)

// lockInfo describes the lock of a checkpoint.
type lockInfo struct {
	PID      int        `json:"pid"`
	Host     string     `json:"host"`
	Job      string     `json:"job"`
	State    string     `json:"state"`
	Since    *time.Time `json:"since"`
	LastSign *time.Time `json:"last_sign"` // of life

	owner filestore.Owner
}

// lockStates are those of the owner; where it has ended and the daemon of its job lives, alive. A process of another host, boot or container is unknown, and that of a lock which
// was copied with its directory.
var lockStates = map[procid.State]string{
	procid.Unknown: "unknown", procid.Alive: "alive", procid.Dead: "dead",
}

// readLock returns nil if there is no lock.
func readLock(fsys vfs.FS, dir string) (*lockInfo, error) {
	info, err := fsys.Stat(filepath.Join(dir, filestore.LockName))
	var owner filestore.Owner
	var state procid.State
	if err == nil {
		owner, state, err = filestore.ReadOwner(fsys, dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, vfs.Dangling(fsys, filepath.Join(dir, filestore.LockName))
	}
	if err != nil {
		return nil, err
	}
	l := &lockInfo{State: lockStates[state], LastSign: documentTime(info.ModTime()), owner: owner}
	if owner.Process.PID != 0 {
		l.PID, l.Host, l.Job, l.Since = owner.Process.PID, owner.Process.Host, owner.Job, documentTime(owner.Since)
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
