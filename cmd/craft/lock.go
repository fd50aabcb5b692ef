package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/craft-go/craft/storage/filestore"
)

// lockPatience is how long ago a job that is alive may have shown it: it does
// every 5 s.
const lockPatience = 30 * time.Second

// lockInfo describes the lock of a checkpoint.
type lockInfo struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
	Job  string `json:"job"`
	// State is "alive" or "dead" for a process of this host, "unknown" for one
	// of another host or container.
	State    string    `json:"state"`
	Since    time.Time `json:"since"`
	LastSign time.Time `json:"last_sign"` // of life

	owner filestore.Owner
}

// readLock returns nil if there is no lock.
func (p *program) readLock(dir string) (*lockInfo, error) {
	info, err := p.fs.Stat(filepath.Join(dir, filestore.LockName))
	var owner filestore.Owner
	if err == nil {
		owner, err = filestore.ReadOwner(p.fs, dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &lockInfo{State: "unknown", LastSign: info.ModTime().UTC(), owner: owner}
	o := l.owner
	if o.Process.PID == 0 {
		return l, nil
	}
	l.PID, l.Host, l.Job, l.Since = o.Process.PID, o.Process.Host, o.Job, o.Since.UTC()
	switch o.Process.State() {
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
	case l.State == "unknown":
		return fmt.Sprintf("%d@%s other host", l.PID, l.Host)
	}
	return fmt.Sprintf("%d@%s %s", l.PID, l.Host, l.State)
}

// inUse says why the lock seems to be in use; "" if it does not.
func (l *lockInfo) inUse(now time.Time) string {
	switch {
	case l.State == "alive":
		return "its process is alive on this host"
	case l.State == "dead":
		return ""
	case now.Sub(l.LastSign) < lockPatience:
		return fmt.Sprintf("its process cannot be looked at from here, but it showed a sign of life %s", age(max(0, now.Sub(l.LastSign))))
	}
	return ""
}

func ownerText(o filestore.Owner) string {
	if o.Process.Host == "" {
		return "an owner that the lock does not name"
	}
	return o.String()
}
