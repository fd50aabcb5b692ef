package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/craft-go/craft/aft/comm"
)

// death kills the process once per job, as -die-at wants. A marker file beside
// the checkpoints keeps the fact, because a restarted run may pass the same
// iteration again. Only rank 0 dies, and the process with it.
type death struct {
	iter   int // -1: never
	path   string
	marked bool // it has happened in an earlier run
}

func newDeath(c config, rank comm.Rank) *death {
	d := &death{iter: -1}
	if c.dieAt < 0 || rank != 0 {
		return d
	}
	d.iter, d.path = c.dieAt, filepath.Join(c.cpPath, fmt.Sprintf("lanczos-died-at-%d", c.dieAt))
	if _, err := os.Stat(d.path); err == nil {
		d.marked = !c.fresh // -fresh begins another job
	}
	return d
}

// after is called when an iteration has ended.
func (d *death) after(iter int) error {
	if iter != d.iter || d.marked {
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

// over is called when the job has ended: the next one may die again.
func (d *death) over() error {
	if !d.marked {
		return nil
	}
	if err := os.Remove(d.path); err != nil {
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
