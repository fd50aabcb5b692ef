package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/offline"
)

// listing is the JSON document of craft ls.
type listing struct {
	Path        osstring.String    `json:"path"`
	Checkpoints []listedCheckpoint `json:"checkpoints"`
}

type listedCheckpoint struct {
	Name     string          `json:"name"`
	Path     osstring.String `json:"path"`
	Lock     *lockInfo       `json:"lock"`
	Levels   string          `json:"levels,omitempty"` // as CRAFT_LEVELS has them
	Nodes    []*offline.Node `json:"nodes,omitempty"`  // that have, or had, versions
	Versions []listedVersion `json:"versions"`         // oldest first
	Requests []listedRequest `json:"requests,omitempty"`
	// WayBack is the last way back, while a start goes by it: see WAYBACK.json.
	WayBack *storage.WayBack `json:"way_back,omitempty"`
	// FirstStage: it has no version, but a checkpoint nested in it has, which a restart goes on from.
	FirstStage bool `json:"first_stage,omitempty"`
}

type listedVersion struct {
	Version       uint64          `json:"version"`
	Attempt       string          `json:"attempt"`
	Path          osstring.String `json:"path"`
	Iteration     *int64          `json:"iteration"`
	Ranks         int             `json:"ranks"`
	Parts         int             `json:"parts"`
	Complete      bool            `json:"complete"`
	State         string          `json:"state"`
	Finished      bool            `json:"finished"` // the run had come to its end: see Finish
	Bytes         int64           `json:"bytes"`
	Created       *time.Time      `json:"created"`
	Lineage       string          `json:"lineage"`
	NewestLineage bool            `json:"newest_lineage"`
	// OtherBranch: the newest complete version does not come from this one.
	OtherBranch bool `json:"other_branch"`
	// Branch is the name of the branch that a way back has passed over with it.
	Branch string   `json:"branch,omitempty"`
	Labels []string `json:"labels"` // of the marks that keep it
	Error  string   `json:"error,omitempty"`
	// Level is how the version was to be protected on the nodes, "pfs" if it
	// went to the parallel file system at once; null if that is not known.
	Level *storage.Levels `json:"level"`
	Flush bool            `json:"flush"` // it was to be copied there
	// Reached is the level that it has now on the nodes ("captured": they lack
	// parts); null if it is not there, or not all nodes can be read from here.
	Reached *storage.Levels `json:"reached"`
	// Durability is how safe the version is: captured, local, redundant, or home; null if
	// nodes that cannot be read from here may have more of it, or it cannot be read now.
	Durability *catalog.Durability `json:"durability"`
	// How many parts are on the parallel file system, on nodes that can be read
	// from here (as parts or copies), and how many only parity gives back.
	Home    int `json:"parts_pfs"`
	OnNodes int `json:"parts_nodes"`
	Rebuilt int `json:"parts_parity"`
	// Elsewhere: nodes that cannot be read from here may have more of it.
	Elsewhere bool `json:"elsewhere"`
	// Bases are the versions that hold chunks of this one, Referred how many
	// bytes they have of it.
	Bases    []uint64 `json:"bases"`
	Referred int64    `json:"referred_bytes"`
	// MissingBases are those of which files are missing: the version cannot be
	// read without them.
	MissingBases []uint64 `json:"missing_bases,omitempty"`

	where string
}

func (p *program) lsCommand() *cobra.Command {
	return p.overview("checkpoints", p.ls, &cobra.Command{
		Use:   "ls [DIR]",
		Short: "List checkpoints and their versions",
		Long: `List checkpoints and their versions.

DIR is a base directory that holds checkpoints, or one checkpoint; without it,
CRAFT_CP_PATH or the working directory. A * marks the lineage that a restart
would continue: that of the newest complete version, or one that was begun anew
and has versions of nested checkpoints so far. "other branch" is what the newest
version does not come from: it was away when a run went on from an older one. "branch
to-5" is what a way back has passed over, with version 5 as its newest. LABELS are of
milestones, and of what craft keep has marked.

Versions on the storage of nodes are listed as far as it is on this machine; of
the others the newest is known (NODES.json). LEVEL is how a version was to be
protected on the nodes (+pfs: and to be copied to the parallel file system), WHERE
the places that have its files, BASES the older versions that have chunks
of it, with the bytes that they have. DURABILITY is how safe a version is now: captured
(not complete in files), local (a lost node, or a crash of machines that have not synced it,
can take it), redundant (no one node can), home (on the parallel file system, synced). A
second table has the nodes.`,
		Example: `  craft ls
  craft ls /scratch/me/cp
  craft ls --json cp/lanczos`,
	})
}

func (p *program) ls(ctx context.Context, where *location) (seen overview, err error) {
	l := listing{Path: osstring.String(where.path), Checkpoints: []listedCheckpoint{}}
	for _, c := range where.checkpoints {
		listed, bad, err := p.list(ctx, where, c)
		if ctx.Err() != nil {
			return seen, ctx.Err()
		}
		seen.problems = append(seen.problems, bad...)
		if err != nil {
			seen.problems = append(seen.problems, err)
			continue
		}
		l.Checkpoints = append(l.Checkpoints, listed)
	}
	seen.document, seen.empty = l, len(l.Checkpoints) == 0
	return seen, nil
}

// list describes one checkpoint; bad are the versions that cannot be described.
func (p *program) list(ctx context.Context, where *location, c *offline.Checkpoint) (out listedCheckpoint, bad []error, err error) {
	out = listedCheckpoint{Name: c.Name, Path: osstring.String(c.Store.Dir()), Versions: []listedVersion{}}
	if out.Lock, err = readLock(p.fs, c.Store.Dir()); err != nil {
		bad = append(bad, err)
	}
	if out.Requests, err = (jobs{p}).readRequests(ctx, c.Store.Dir(), out.Lock); err != nil {
		bad = append(bad, err)
	}
	bad = append(bad, c.Unread...)
	if c.Manifest != nil {
		out.Levels, out.Nodes = c.Manifest.Policy, c.Store.Nodes
	}
	versions, err := c.Versions(ctx)
	if err != nil {
		return out, bad, err
	}
	for _, v := range versions {
		if where.version != nil && v.ID != *where.version {
			continue
		}
		if v.Err != nil {
			bad = append(bad, v.Err)
		}
		for _, why := range v.Away {
			bad = append(bad, fmt.Errorf("version %d: %s", v.ID.Version, why))
		}
		listed := describeVersion(v)
		if v.Header != nil && v.Header.Oldest != 0 {
			listed.Bases, listed.Referred = references(ctx, c, v)
			listed.MissingBases = missingBases(versions, v.ID, listed.Bases)
			if len(listed.MissingBases) > 0 && v.Complete() && v.Err == nil {
				listed.State = "base missing"
			}
		}
		listed.Durability = v.Durability(versions, listed.Bases)
		out.Versions = append(out.Versions, listed)
	}
	out.WayBack = c.GoesBack(versions)
	out.FirstStage = inFirstStage(c, versions)
	bad = append(bad, goneMarks(c, versions)...)
	if gone := c.Gone(versions); gone != nil && where.version == nil {
		bad = append(bad, gone)
	}
	return out, bad, ctx.Err()
}

// inFirstStage reports whether a checkpoint has no version, but one that is nested in it.
func inFirstStage(c *offline.Checkpoint, versions []offline.Version) bool {
	return !slices.ContainsFunc(versions, func(v offline.Version) bool { return v.Complete() || v.Elsewhere }) && storage.StoredInFirstStage(c.Runs)
}

func describeVersion(v offline.Version) listedVersion {
	l := listedVersion{
		Version: v.ID.Version, Attempt: attemptHex(v.ID.Attempt), Path: osstring.String(v.Path),
		Ranks: v.Size(), Parts: len(v.Parts), Complete: v.Complete(), State: v.State(),
		Bytes: v.Bytes, NewestLineage: v.Newest, OtherBranch: v.Other, Home: v.Home, OnNodes: v.OnNodes, Rebuilt: v.Rebuilt,
		Elsewhere: v.Elsewhere, Bases: []uint64{}, where: v.Where(), Level: v.Planned(), Branch: v.Passed, Labels: append([]string{}, v.Labels...), Reached: v.Reached, Lineage: v.LineageText,
	}
	if v.Err != nil {
		l.Error, l.State = v.Err.Error(), "unreadable"
		if errors.Is(v.Err, storage.ErrDamaged) {
			l.State = "damaged"
		}
	}
	if v.Header != nil {
		l.Iteration, l.Created, l.Flush = iteration(*v.Header), documentTime(v.Header.Created), v.Header.Flush
		l.Finished = storage.Finished(*v.Header)
	} else if v.Noted != nil {
		l.Iteration, l.Ranks = v.Noted.Iteration, v.Noted.Ranks
	}
	return l
}

func (l listing) print(s *screen) {
	when := "CREATED"
	if s.width > 0 {
		when = "AGE"
	}
	t := newTable(
		left("CHECKPOINT"), right("VERSION"), left("ATTEMPT").drop(1), right("ITERATION"), right("RANKS").drop(3), left("STATE"), right("SIZE"), left(when),
		left("LINEAGE").drop(2), left("LOCK").drop(4), left("LEVEL").drop(7), left("WHERE").drop(6), left("BASES").drop(5), left("DURABILITY").drop(8),
	)
	labels := slices.ContainsFunc(l.Checkpoints, func(c listedCheckpoint) bool {
		return slices.ContainsFunc(c.Versions, func(v listedVersion) bool { return len(v.Labels) > 0 })
	})
	if labels {
		t.columns = append(t.columns, left("LABELS"))
	}
	for _, c := range l.Checkpoints {
		if len(c.Versions) == 0 {
			nested := ""
			if c.FirstStage {
				nested = ", but checkpoints nested in it do: a restart goes on from these"
			}
			s.say("%s holds no versions%s", c.Path, nested)
		}
		sayHalts(s, c.Requests)
		for _, v := range c.Versions {
			lineage := short(v.Lineage)
			switch {
			case v.Branch != "":
				lineage += fmt.Sprintf(" (branch %s)", v.Branch)
			case v.OtherBranch:
				lineage += " (other branch)"
			case v.NewestLineage:
				lineage += "*"
			}
			level, where := levelText(v.Level, v.Reached, v.Flush, "+pfs"), v.where
			if s.width > 0 && len(c.Nodes) == 0 {
				level, where = "", "" // it says the same of all
			}
			bases := ranges(v.Bases)
			if bases != "" {
				bases += fmt.Sprintf(" (%s)", s.size(v.Referred))
			}
			state := v.State
			if v.Finished && v.Complete {
				state += ", finished"
			}
			cells := []string{c.Name, strconv.FormatUint(v.Version, 10), short(v.Attempt), orDash(v.Iteration),
				strconv.Itoa(v.Ranks), state, s.size(v.Bytes), s.moment(v.Created), lineage, c.Lock.String(), level, where, bases, orDash(v.Durability)}
			if labels {
				cells = append(cells, strings.Join(v.Labels, ", "))
			}
			t.add(cells...)
		}
		if c.WayBack != nil && c.WayBack.Pending() {
			s.say("checkpoint %s: the next start goes back to %s (%s, asked for %s)", c.Name, c.WayBack.To, c.WayBack.Asked, s.moment(&c.WayBack.Created))
		}
	}
	if len(t.rows) > 0 {
		s.show(t, s.width)
	}
	l.printNodes(s)
}

// levelText is such as "xor", or "xor (now local)" where the nodes have less than was planned,
// with a note on what is to be flushed.
func levelText(planned, reached *storage.Levels, flush bool, note string) string {
	if planned == nil {
		return ""
	}
	text := planned.String()
	if flush && planned.BelowHome() != 0 {
		text += note
	}
	switch {
	case reached == nil || reached.Include(*planned):
		return text
	case *reached == 0:
		return text + " (degraded)"
	}
	return fmt.Sprintf("%s (now %v)", text, *reached)
}

// mostNodes is how many nodes of a checkpoint are shown: large machines have
// thousands.
const mostNodes = 32

// printNodes says on which nodes versions are.
func (l listing) printNodes(s *screen) {
	t := newTable(
		left("CHECKPOINT"), left("HOST"), left("RANKS").drop(2), left("STATE"), right("OBJECTS").drop(1), right("SIZE"), left("RACK").drop(1),
		left("DIRECTORY"),
	)
	for _, c := range l.Checkpoints {
		for _, n := range c.Nodes[:min(mostNodes, len(c.Nodes))] {
			t.add(c.Name, n.Host, ranges(n.Ranks), n.State, strconv.Itoa(n.Objects), s.size(n.Bytes), n.Rack, string(n.Dir))
		}
		for _, remark := range remarks(c.Name, c.Nodes) {
			s.say("%s", remark)
		}
		if more := len(c.Nodes) - mostNodes; more > 0 {
			s.say("checkpoint %s: %d more nodes (--json shows all)", c.Name, more)
		}
	}
	if len(t.rows) > 0 {
		s.show(t, s.width)
	}
}

// remarks say what is odd about the directories of nodes that are on this machine; of those
// of which not all can be listed it is said elsewhere.
func remarks(checkpoint string, nodes []*offline.Node) (list []string) {
	for _, d := range nodes[:min(mostNodes, len(nodes))] {
		switch {
		case d.State == offline.NodeUnusable:
			list = append(list, fmt.Sprintf("directory %s of checkpoint %s is not used: %s", d.Dir, checkpoint, d.Reason))
		case d.Reason != "" && !d.Unlisted:
			list = append(list, fmt.Sprintf("directory %s of checkpoint %s: %s", d.Dir, checkpoint, d.Reason))
		}
	}
	return list
}
