package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/offline"
)

func keepCommand(p *program) *cobra.Command {
	var version, label string
	cmd := &cobra.Command{
		Use:   "keep DIR",
		Short: "Keep a version, with a label",
		Long: `Keep a version, with a label, until craft unkeep takes that back.

DIR is the directory of a checkpoint, or its name below CRAFT_CP_PATH. The version has to
be on the parallel file system, with all that it refers to. A job may be running: either
the version is kept, or the command says that it is gone. It does not count among
those of CRAFT_KEEP, nothing deletes it, and no restart takes it by itself when it is
not the newest; craft restore --milestone goes back to it.`,
		Example: `  craft keep cp/lanczos --version 12 --label "after warm-up"
  craft unkeep cp/lanczos --label "after warm-up"`,
		Args: directories(1),
	}
	cmd.Flags().StringVar(&version, "version", "", "the version of this number, or of the directory with this name")
	cmd.Flags().StringVar(&label, "label", "", "printable text without slashes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := storage.ParseTarget(version)
		if err == nil {
			err = storage.CheckLabel(label)
		}
		if err != nil {
			return &usageError{err}
		}
		return changing{p}.keep(cmd.Context(), args[0], t, label)
	}
	return cmd
}

func unkeepCommand(p *program) *cobra.Command {
	var label string
	cmd := &cobra.Command{
		Use:   "unkeep DIR",
		Short: "Take back what keeps the versions with a label",
		Long: `Take back what keeps the versions with a label, of the program's own milestones too.

They are ordinary versions then: a job that is running, or the next one, deletes them if
newer ones are enough. Marks whose label cannot be read have the label "?".`,
		Example: `  craft unkeep cp/lanczos --label "after warm-up"`,
		Args:    directories(1),
	}
	cmd.Flags().StringVar(&label, "label", "", "as craft ls shows it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := storage.CheckLabel(label); err != nil {
			return &usageError{err}
		}
		return changing{p}.unkeep(cmd.Context(), args[0], label)
	}
	return cmd
}

// vanishing is how long a version that was there is looked for, which a job may be giving back.
const vanishing = 10 * time.Second

func (ch changing) keep(ctx context.Context, dir string, t storage.Target, label string) error {
	c, list, err := ch.open(ctx, "keep", dir)
	if err != nil {
		return err
	}
	id, err := catalog.Resolve(t, c.Choices(list))
	if err != nil {
		return fmt.Errorf("%s: %w", c.Store.Dir(), err)
	}
	files, err := ch.filesOf(c)
	if err != nil {
		return err
	}
	v := list[slices.IndexFunc(list, func(v offline.Version) bool { return v.ID == id })]
	if v.Header == nil {
		return fmt.Errorf("%v: nothing says what it refers to: %w", id, v.Err)
	}
	needed := []storage.ID{id}
	if v.Header.Oldest != 0 {
		bases, _ := references(ctx, c, v)
		for _, number := range bases {
			needed = append(needed, storage.ID{Version: number, Attempt: id.Attempt})
		}
	}
	if missing, err := notAtHome(ctx, files, needed); err != nil || !missing.IsZero() {
		if err == nil {
			err = fmt.Errorf("%v cannot be kept: %v is not whole on the parallel file system, and no mark keeps what nodes have (level pfs, or Milestone in the program, brings versions there)", id, missing)
		}
		return err
	}
	mark := storage.Mark{ID: id, Oldest: v.Header.Oldest, Label: label, ByHand: true, Created: time.Now().UTC().Truncate(time.Millisecond)}
	if err := filestore.MarksOf(files).Set(mark); err != nil {
		return err
	}
	missing, err := ch.stays(ctx, files, needed)
	if err == nil && !missing.IsZero() {
		err = fmt.Errorf("%v is gone: the job has deleted %v because newer versions are complete", id, missing)
	}
	if err != nil {
		if taken := filestore.MarksOf(files).Remove(mark); taken != nil {
			err = fmt.Errorf("%w (and its mark is left: %w)", err, taken)
		}
		return err
	}
	ch.p.say("%v is kept, with label %q", id, label)
	return nil
}

// notAtHome is the first of some versions that is not whole in the checkpoint's directory; zero: all are.
func notAtHome(ctx context.Context, files *filestore.Store, ids []storage.ID) (storage.ID, error) {
	entries, err := files.List(ctx)
	if err != nil {
		return storage.ID{}, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(entries, func(e storage.Entry) bool { return e.ID == id && e.Complete() }) {
			return id, nil
		}
	}
	return storage.ID{}, nil
}

// stays is notAtHome when a job has seen the mark: what it is deleting then it gives back.
func (ch changing) stays(ctx context.Context, files *filestore.Store, ids []storage.ID) (storage.ID, error) {
	for end := time.Now().Add(vanishing); ; {
		missing, err := notAtHome(ctx, files, ids)
		if err != nil || missing.IsZero() || time.Now().After(end) {
			return missing, err
		}
		if _, hidden := ch.p.fs.Stat(filepath.Join(files.Dir(), filestore.TrashPrefix+missing.String())); hidden != nil {
			return notAtHome(ctx, files, ids) // it may have come back in between
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return missing, context.Cause(ctx)
		}
	}
}

// labelText is the label of a mark for people.
func labelText(m storage.Mark) string {
	if m.Label == "" {
		return "?"
	}
	return m.Label
}

func (ch changing) unkeep(ctx context.Context, dir, label string) error {
	c, _, err := ch.open(ctx, "unkeep", dir)
	if err != nil {
		return err
	}
	files, err := ch.filesOf(c)
	if err != nil {
		return err
	}
	marks, err := filestore.MarksOf(files).List()
	if err != nil {
		return err
	}
	var gone, others []string
	for _, m := range marks {
		if text := labelText(m); text != label {
			others = append(others, fmt.Sprintf("%q", text))
			continue
		}
		if err := filestore.MarksOf(files).Remove(m); err != nil {
			return err
		}
		gone = append(gone, m.ID.String())
	}
	if gone == nil {
		there := "there is none"
		if others != nil {
			there = "there is " + strings.Join(slices.Compact(others), ", ")
		}
		return fmt.Errorf("%s: no version has the label %q: %s", c.Store.Dir(), label, there)
	}
	ch.p.say("%s: label %q taken back", strings.Join(slices.Compact(gone), ", "), label)
	return nil
}

// goneMarks tells of marks whose version is not there.
func goneMarks(c *offline.Checkpoint, list []offline.Version) (bad []error) {
	for _, m := range c.Marks {
		if !slices.ContainsFunc(list, func(v offline.Version) bool { return v.ID == m.ID }) {
			bad = append(bad, fmt.Errorf("%s: the version with the label %q is gone: put it back, or run craft unkeep", c.Files.Path(m.ID), labelText(m)))
		}
	}
	return bad
}
