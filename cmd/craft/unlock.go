package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

func (p *program) unlockCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "unlock DIR",
		Short: "Remove the lock that a dead job has left",
		Long: `Remove the lock that a dead job has left in a checkpoint's directory.

Mostly nobody needs this: the next job takes over the lock of a dead process of
its host at once, and that of another host after 30 s without a sign of life. This
command does the same, so it may take 30 s. A lock whose owner is alive, or the
daemon of its job on this host, is only removed with --force: two jobs that write to one checkpoint would delete each
other's versions.`,
		Example: `  craft unlock cp/lanczos
  craft unlock --force cp/lanczos`,
		Args: directories(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.unlock(cmd.Context(), args[0], force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "at once, also if the owner is alive")
	return cmd
}

func (p *program) unlock(ctx context.Context, dir string, force bool) error {
	l, err := readLock(p.fs, dir)
	if err != nil {
		return err
	}
	if l == nil {
		return p.notLocked(ctx, dir)
	}
	if l.State == "unknown" && !force {
		p.say("%s is locked by %s, which cannot be looked at from here: watching for %v whether it is alive", dir, l.owner, p.lock.Patience)
	}
	owner, err := filestore.Unlock(ctx, p.fs, dir, p.lock, force)
	switch {
	case err == nil:
		p.say("removed the lock of %s from %s", owner, dir)
	case errors.Is(err, storage.ErrLocked):
		return fmt.Errorf("%s is locked by %s: the lock is in use, and it is alive; if you are sure that the job is dead: craft unlock --force %s", dir, owner, dir)
	case errors.Is(err, fs.ErrNotExist):
		p.say("%s is not locked any more", dir)
	default:
		return err
	}
	return nil
}

// notLocked is fine for a checkpoint, and a mistake for anything else.
func (p *program) notLocked(ctx context.Context, dir string) error {
	where, err := find(ctx, p.fs, dir)
	if err != nil {
		return err
	}
	if where.loose || where.version != nil {
		return fmt.Errorf("%s is not the directory of a checkpoint; locks are there", dir)
	}
	if _, err := where.single("unlock"); err != nil {
		return err
	}
	p.say("%s is not locked", dir)
	return nil
}
