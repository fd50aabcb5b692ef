package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/offline"
)

// storedVersion is the newest version of a checkpoint.
type storedVersion struct {
	checkpoint string
	listed     *listedVersion // nil: there is none that is complete
	own        bool           // the job has stored it, not one before
}

// storedBy looks for what a job that has begun then leaves, where programs write without being told otherwise: in the
// checkpoints of which it has left a record. What cannot be read is left out: the job has ended, whatever is known of it.
func storedBy(ctx context.Context, p *program, began time.Time) (list []storedVersion) {
	where, err := find(ctx, p.fs, defaultBase())
	if err != nil || where.loose {
		return nil
	}
	for _, c := range where.checkpoints {
		records, _ := filestore.Records(p.fs, c.Store.Dir())
		runs := slices.DeleteFunc(records, func(r storage.Record) bool { return r.Updated.Before(began) })
		if len(runs) == 0 {
			continue
		}
		list = append(list, newestOf(ctx, p, where, c, runs))
	}
	return list
}

// newestOf is the newest version that a start goes on from, as craft ls has it.
func newestOf(ctx context.Context, p *program, where *location, c *offline.Checkpoint, runs []storage.Record) storedVersion {
	newest := storedVersion{checkpoint: c.Name}
	listed, _, err := p.list(ctx, where, c)
	if err != nil {
		return newest
	}
	for i := range listed.Versions {
		if v := &listed.Versions[i]; v.Complete && v.NewestLineage && !v.OtherBranch {
			newest.listed = v
		}
	}
	if newest.listed != nil {
		newest.own = slices.ContainsFunc(runs, func(r storage.Record) bool { return r.LastWritten > 0 && r.Attempt == newest.listed.Attempt })
	}
	return newest
}

// String is for people.
func (v storedVersion) String() string {
	if v.listed == nil {
		return fmt.Sprintf("of checkpoint %s nothing is stored", printable(v.checkpoint))
	}
	text := fmt.Sprintf("version %d", v.listed.Version)
	if v.listed.Iteration != nil {
		text += fmt.Sprintf(" of iteration %d", *v.listed.Iteration)
	}
	text += fmt.Sprintf(" of checkpoint %s", printable(v.checkpoint))
	var remarks []string
	if level := v.listed.Level; level != nil && level.BelowHome() != 0 {
		remarks = append(remarks, "level "+levelText(level, v.listed.Reached, v.listed.Flush, "+pfs"))
	}
	if v.listed.Durability != nil {
		remarks = append(remarks, v.listed.Durability.String())
	}
	if len(remarks) > 0 {
		text += " (" + strings.Join(remarks, ", ") + ")"
	}
	if !v.own {
		return "nothing new is stored, the newest is " + text
	}
	return text + " is stored"
}

// storedText tells of what a job has stored, or says why not.
func storedText(list []storedVersion) string {
	const most = 8
	if len(list) == 0 {
		return fmt.Sprintf("what it has stored is not known: there is no record of it in %s (CRAFT_CP_PATH)", printable(defaultBase()))
	}
	var lines []string
	for _, v := range list[:min(most, len(list))] {
		lines = append(lines, v.String())
	}
	if more := len(list) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d checkpoints more: craft ls shows them", more))
	}
	return strings.Join(lines, "\n")
}
