package jobs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/craft-go/craft/internal/vfs"
)

// Death is what may happen to a process once per job, as the flags -die-at and -kill
// want: to show that a restart, or a recovery, comes to the same result. A marker file
// beside the checkpoints keeps the fact, because a restarted run and a replacement may
// pass the same iteration again. The zero value never happens.
type Death struct {
	path     string
	happened bool // in an earlier run, or to the process that this one replaces
}

// NewDeath returns the death of a job whose marker is at path. Of a fresh job it has
// not happened yet: a marker that is there is removed. Only who may die calls it.
func NewDeath(path string, fresh bool) (*Death, error) {
	d := &Death{path: path}
	if fresh {
		return d, ForgetDeath(path)
	}
	if _, err := os.Stat(path); err == nil {
		d.happened = true
	}
	return d, nil
}

// Happened reports whether it happened before.
func (d *Death) Happened() bool { return d.happened }

// Die kills this process with SIGKILL, unless that happened before.
func (d *Death) Die() error { return d.DieWith(os.Getpid(), DieWith) }

// DieWith has another process killed, by whose death this one ends too, unless that
// happened before.
func (d *Death) DieWith(pid int, kill func(pid int) error) error {
	if d.path == "" || d.happened {
		return nil
	}
	if err := mark(d.path); err != nil {
		return fmt.Errorf("mark that a process dies: %w", err)
	}
	return kill(pid)
}

// DieWith kills this process, or one by whose death it ends too, with SIGKILL.
func DieWith(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	select {} // the signal may take a moment, in which nothing may happen
}

// ForgetDeath is called when the job has ended: the next one may die again.
func ForgetDeath(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("forget that a process has died: %w", err)
	}
	return nil
}

// mark creates a file that is still there after a crash. It has its name at once: another
// rank may kill this process meanwhile, which would leave a file of another name for ever.
func mark(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), vfs.OS().SyncDir(dir))
}
