package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/storage"
)

// listing is the JSON document of craft ls.
type listing struct {
	Path        string             `json:"path"`
	Checkpoints []listedCheckpoint `json:"checkpoints"`
}

type listedCheckpoint struct {
	Name     string          `json:"name"`
	Path     string          `json:"path"`
	Lock     *lockInfo       `json:"lock"`
	Versions []listedVersion `json:"versions"` // oldest first
}

type listedVersion struct {
	Version       uint64     `json:"version"`
	Attempt       string     `json:"attempt"`
	Path          string     `json:"path"`
	Iteration     *int64     `json:"iteration"`
	Ranks         int        `json:"ranks"`
	Parts         int        `json:"parts"`
	Complete      bool       `json:"complete"`
	State         string     `json:"state"`
	Bytes         int64      `json:"bytes"`
	Created       *time.Time `json:"created"`
	Lineage       string     `json:"lineage"`
	NewestLineage bool       `json:"newest_lineage"`
	Error         string     `json:"error,omitempty"`
}

func (p *program) lsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls [DIR]",
		Short: "List checkpoints and their versions",
		Long: `List checkpoints and their versions.

DIR is a base directory that holds checkpoints, or one checkpoint; without it,
CRAFT_CP_PATH or the working directory. A * marks the lineage that a restart
would continue: that of the newest complete version.`,
		Example: `  craft ls
  craft ls /scratch/me/cp
  craft ls --json cp/lanczos`,
		Args: directories(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := defaultBase()
			if len(args) > 0 {
				dir = args[0]
			}
			return p.ls(cmd.Context(), dir, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document instead of a table")
	return cmd
}

func (p *program) ls(ctx context.Context, dir string, asJSON bool) error {
	where, err := p.find(ctx, dir)
	if err != nil {
		return err
	}
	if where.loose {
		return fmt.Errorf("%s is a file, not a directory of checkpoints", dir)
	}
	problems := where.problems
	l := listing{Path: dir, Checkpoints: []listedCheckpoint{}}
	for _, c := range where.checkpoints {
		listed, bad, err := p.list(ctx, where, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		problems = append(problems, bad...)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		l.Checkpoints = append(l.Checkpoints, listed)
	}
	if asJSON {
		err = p.printJSON(l)
	} else if len(l.Checkpoints) > 0 {
		err = p.printListing(l)
	} else if len(problems) == 0 {
		p.say("no checkpoints in %s", dir)
	}
	for _, problem := range problems {
		p.say("%v", problem)
	}
	if err == nil && len(problems) > 0 {
		err = errReported
	}
	return err
}

// list describes one checkpoint; bad are the versions that cannot be described.
func (p *program) list(ctx context.Context, where *place, c *checkpointDir) (out listedCheckpoint, bad []error, err error) {
	out = listedCheckpoint{Name: c.name, Path: c.store.Dir(), Versions: []listedVersion{}}
	if out.Lock, err = p.readLock(c.store.Dir()); err != nil {
		bad = append(bad, err)
	}
	versions, err := c.versions(ctx)
	if err != nil {
		return out, bad, err
	}
	for _, v := range versions {
		if where.version != nil && v.ID != *where.version {
			continue
		}
		if v.err != nil {
			bad = append(bad, v.err)
		}
		out.Versions = append(out.Versions, describeVersion(v))
	}
	return out, bad, nil
}

func describeVersion(v version) listedVersion {
	l := listedVersion{
		Version: v.ID.Version, Attempt: attemptHex(v.ID.Attempt), Path: v.path,
		Ranks: max(v.Size(), 0), Parts: len(v.Parts), Complete: v.Complete(), State: v.state(),
		Bytes: v.bytes, NewestLineage: v.newest,
	}
	if v.err != nil {
		l.Error, l.State = v.err.Error(), "unreadable"
		if errors.Is(v.err, storage.ErrDamaged) {
			l.State = "damaged"
		}
	}
	if v.header != nil {
		created := v.header.Created.UTC()
		l.Iteration, l.Created, l.Lineage = iteration(*v.header), &created, lineageHex(v.header.Lineage)
	}
	return l
}

func (p *program) printListing(l listing) error {
	when := "CREATED"
	if p.width > 0 {
		when = "AGE"
	}
	t := table{columns: []column{
		{title: "CHECKPOINT"}, {title: "VERSION", right: true}, {title: "ATTEMPT", drop: 1},
		{title: "ITERATION", right: true}, {title: "RANKS", right: true, drop: 3}, {title: "STATE"},
		{title: "SIZE", right: true}, {title: when}, {title: "LINEAGE", drop: 2}, {title: "LOCK", drop: 4},
	}}
	for _, c := range l.Checkpoints {
		for _, v := range c.Versions {
			lineage, created := short(v.Lineage), "-"
			if v.NewestLineage {
				lineage += "*"
			}
			if v.Created != nil {
				created = p.moment(*v.Created)
			}
			t.add(c.Name, strconv.FormatUint(v.Version, 10), short(v.Attempt), orDash(v.Iteration),
				strconv.Itoa(v.Ranks), v.State, p.size(v.Bytes), created, lineage, c.Lock.String())
		}
	}
	return t.write(p.stdout, p.width)
}
