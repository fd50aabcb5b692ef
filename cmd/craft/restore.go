package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/offline"
)

// chosen is the version that flags name.
type chosen struct{ version, iteration, milestone string }

func (f *chosen) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.version, "version", "", "the version of this number, or of the directory with this name")
	cmd.Flags().StringVar(&f.iteration, "iteration", "", "the version of this iteration")
	cmd.Flags().StringVar(&f.milestone, "milestone", "", "the version with this label")
}

// target is a mistake of usage unless one flag is given, and right.
func (f *chosen) target(cmd *cobra.Command) (t storage.Target, err error) {
	var texts []string
	for _, flag := range []struct{ name, prefix, value string }{{"version", "", f.version}, {"iteration", "iteration=", f.iteration}, {"milestone", "milestone=", f.milestone}} {
		if cmd.Flags().Changed(flag.name) {
			texts = append(texts, flag.prefix+flag.value)
		}
	}
	if len(texts) != 1 {
		return t, &usageError{fmt.Errorf("which version? give one of --version, --iteration and --milestone")}
	}
	if t, err = storage.ParseTarget(texts[0]); err != nil {
		err = &usageError{err}
	}
	return t, err
}

// changing changes what a job finds in a checkpoint's directory.
type changing struct{ p *program }

func restoreCommand(p *program) *cobra.Command {
	var f chosen
	cmd := &cobra.Command{
		Use:   "restore DIR",
		Short: "Take a computation back to one of its versions",
		Long: `Take a computation back to one of its versions.

DIR is the directory of a checkpoint, or its name below CRAFT_CP_PATH. The next start
of the program goes back to the version, and from then on only what was done
since: a branch of its own. It is taken once, however often the program is
started. If the version turns out to be damaged the start fails; it takes no other
one. What is newer is passed over. It stays, as a branch with a name, until the new
one has as many complete versions as are kept (CRAFT_KEEP), and can be gone back to.

A job that is running must end first. Of a nested checkpoint the one around it is
taken back, and what is nested follows. CRAFT_RESTART_FROM does the same for a job
that sees more than this machine.`,
		Example: `  craft restore cp/lanczos --version 12
  craft restore cp/lanczos --iteration 3000
  craft restore cp/lanczos --milestone "after warm-up"`,
		Args: directories(1),
	}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := f.target(cmd)
		if err != nil {
			return err
		}
		return changing{p}.restore(cmd.Context(), args[0], t)
	}
	return cmd
}

// open opens the one checkpoint that a command is to change.
func (ch changing) open(ctx context.Context, command, dir string) (*offline.Checkpoint, []offline.Version, error) {
	p := ch.p
	if _, err := p.fs.Stat(dir); err != nil && hint(p.fs, dir) != "" {
		dir = filepath.Join(defaultBase(), dir)
	}
	where, err := find(ctx, p.fs, dir)
	if err != nil {
		return nil, nil, err
	}
	if where.loose || where.version != nil {
		return nil, nil, fmt.Errorf("%s is not the directory of a checkpoint", dir)
	}
	found, err := where.single(command)
	if err != nil {
		return nil, nil, err
	}
	list, err := found.Versions(ctx)
	if err != nil {
		return nil, nil, err
	}
	if around := found.Nested(list); around != "" {
		return nil, nil, fmt.Errorf("%s is nested in %q: nobody can go back to it alone; take %q instead, and what is nested follows", found.Store.Dir(), around, around)
	}
	return found, list, nil
}

func (ch changing) restore(ctx context.Context, dir string, t storage.Target) (err error) {
	c, _, err := ch.open(ctx, "restore", dir)
	if err != nil {
		return err
	}
	files, err := ch.filesOf(c)
	if err != nil {
		return err
	}
	lock, err := files.Lock(ctx) // so that no job begins meanwhile
	if errors.Is(err, storage.ErrLocked) {
		return fmt.Errorf("a job is writing to %s, end it first: %w", c.Store.Dir(), err)
	}
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, lock.Unlock()) }()
	c, list, err := ch.open(ctx, "restore", dir) // as it is now
	if err != nil {
		return err
	}
	id, err := catalog.Resolve(t, c.Choices(list))
	if err != nil {
		return fmt.Errorf("%s: %w", c.Store.Dir(), err)
	}
	var branch storage.BranchID
	_, _ = rand.Read(branch[:]) // never fails
	note := storage.NewWayBack(branch, id, t, "craft restore", c.WayBack)
	v := list[slices.IndexFunc(list, func(v offline.Version) bool { return v.ID == id })]
	if v.Header != nil {
		note.Describe(*v.Header)
	} else if lineage := v.Lineage(); lineage != nil {
		note.Lineage = v.LineageText
	}
	if err := filestore.SetWayBack(ctx, files, note); err != nil {
		return err
	}
	iteration := "no iteration"
	if note.Iteration != nil {
		iteration = "iteration " + strconv.FormatInt(*note.Iteration, 10)
	}
	ch.p.say("the next start of %s goes back to %v (%s); what is newer stays until %s has as many complete versions since then as are kept", c.Name, id, iteration, c.Name)
	return nil
}

// filesOf is the checkpoint's directory for who changes it.
func (ch changing) filesOf(c *offline.Checkpoint) (*filestore.Store, error) {
	dir := c.Store.Dir()
	return filestore.New(filestore.Config{Path: filepath.Dir(dir), Name: filepath.Base(dir), FS: ch.p.fs, Lock: ch.p.lock})
}
