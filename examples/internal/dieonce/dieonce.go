// Package dieonce kills a program once per job, as the -die-at flags of the
// examples want: to show that a restart comes to the same result.
//
// A marker file beside the checkpoints keeps the fact, because a restarted run
// may pass the same iteration again.
package dieonce

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Death is what may happen to the process once per job. Only one rank holds it;
// the zero value never happens.
type Death struct {
	path     string
	happened bool // in an earlier run
}

// New returns the death of a job whose marker is at path. Of a fresh job it has
// not happened yet, whatever is there.
func New(path string, fresh bool) *Death {
	d := &Death{path: path}
	if _, err := os.Stat(path); err == nil {
		d.happened = !fresh
	}
	return d
}

// Happened tells whether it happened in an earlier run of the job.
func (d *Death) Happened() bool { return d.happened }

// Die kills the process with SIGKILL, unless it happened before.
func (d *Death) Die() error {
	if d.path == "" || d.happened {
		return nil
	}
	if err := mark(d.path); err != nil {
		return fmt.Errorf("-die-at: %w", err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return fmt.Errorf("-die-at: %w", err)
	}
	select {} // the signal may take a moment, in which nothing may happen
}

// Over is called when the job has ended: the next one may die again.
func (d *Death) Over() error {
	if !d.happened {
		return nil
	}
	if err := os.Remove(d.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("-die-at: %w", err)
	}
	return nil
}

// mark creates a file that is still there after a crash.
func mark(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
