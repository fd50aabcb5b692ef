package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/offline"
)

// The verdicts on a version.
const (
	verdictOK          = "ok"
	verdictDamaged     = "damaged"     // bytes are wrong, or files do not belong together
	verdictUnreadable  = "unreadable"  // bytes could not be read now
	verdictUnsupported = "unsupported" // a newer program is needed
	verdictIncomplete  = "incomplete"  // not all ranks' files are there
	verdictElsewhere   = "elsewhere"   // the others may be on nodes that cannot be read from here
)

// verification is the JSON document of craft verify.
type verification struct {
	Path     osstring.String   `json:"path"`
	OK       bool              `json:"ok"`
	Versions []verifiedVersion `json:"versions"`
}

type verifiedVersion struct {
	Checkpoint string          `json:"checkpoint"`
	Version    uint64          `json:"version"`
	Attempt    string          `json:"attempt"`
	Path       osstring.String `json:"path"`
	Iteration  *int64          `json:"iteration"`
	Ranks      int             `json:"ranks"`
	Parts      int             `json:"parts"`
	Bytes      int64           `json:"bytes"`
	Read       bool            `json:"read"` // false: its files were not read
	Verdict    string          `json:"verdict"`
	Findings   []finding       `json:"findings"`
}

// finding is one thing that is wrong.
type finding struct {
	Kind   string          `json:"kind"` // one of the verdicts
	File   osstring.String `json:"file"`
	Key    string          `json:"key,omitempty"`
	Offset *int64          `json:"offset,omitempty"` // of the damaged piece in the file, in bytes
	Reason string          `json:"reason"`
}

// verifying is what the user wants to be verified.
type verifying struct {
	latest, all bool
}

func (p *program) verifyCommand() *cobra.Command {
	var w verifying
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Read every byte and check it",
		Long: `Read every byte of all complete versions and check it against the checksums;
check that the files of a version belong together, that partitioned arrays are
covered once, and that ranks agree on replicated values.

DIR is a checkpoint, a version, a single file of one, or a base directory, all
of whose checkpoints are verified. Versions that vanish meanwhile, because the
job goes on, are left out.

Verdicts: ok; damaged: bytes are wrong; unreadable: they could not be read now
(permissions, input errors); unsupported: a newer craft is needed; incomplete:
files of ranks are missing, which is no damage unless DIR names that version;
elsewhere: the same, but nodes that cannot be read from here may have them.

Files are read from the parallel file system, and what is not there from the
storage of the nodes, as far as it is on this machine: as they are, from copies,
and from parity. Versions that refer to older ones for chunks that have not
changed are read with these. craft node verify reads all that is on a node.`,
		Example: `  craft verify cp/lanczos
  craft verify cp/lanczos --latest
  craft verify --json cp | jq .ok`,
		Args: directories(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if w.latest && w.all {
				return &usageError{errors.New("--latest and --all exclude each other")}
			}
			return p.verify(cmd.Context(), args[0], w)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&w.latest, "latest", false, "only the newest complete version of each checkpoint")
	flags.BoolVar(&w.all, "all", false, "also what is there of incomplete versions")
	p.jsonFlag(cmd, "tables")
	return cmd
}

func (p *program) verify(ctx context.Context, dir string, w verifying) error {
	where, err := find(ctx, p.fs, dir)
	if err != nil {
		return err
	}
	if where.loose {
		return fmt.Errorf("%s is not in the directory of a version, so nothing says what it should be; craft show %s checks its index", dir, dir)
	}
	if len(where.checkpoints) == 0 {
		return where.nothing()
	}
	if where.version != nil && w.latest {
		return &usageError{fmt.Errorf("--latest: %s is of version %d, which is verified whether it is the newest or not", dir, where.version.Version)}
	}
	targets, problems, err := w.chosen(ctx, where)
	if err != nil {
		return err
	}
	result := verification{Path: osstring.String(dir), OK: len(problems) == 0, Versions: []verifiedVersion{}}
	read, err := p.verifyTargets(ctx, targets, &result)
	if err != nil {
		return err
	}
	if read == 0 && len(problems) == 0 {
		result.OK = false
		problems = append(problems, nothingRead(dir, where, targets))
	}
	seen := overview{document: result, empty: len(result.Versions) == 0, problems: problems, failed: !result.OK}
	for _, c := range where.checkpoints {
		seen.notes = append(seen.notes, remarks(c.Name, c.Store.Nodes)...)
	}
	return p.present(seen)
}

// target is a version to be verified.
type target struct {
	c *offline.Checkpoint
	v offline.Version
	// read says that its files are read; otherwise it is only listed.
	read bool
	// named: the user wants to know of this version, complete or not.
	named bool
	part  int // the only rank to read, -1: all
}

func (t *target) bytesToRead() int64 {
	if !t.read {
		return 0
	}
	return t.v.Bytes
}

// chosen lists what is to be verified, oldest versions first.
func (w verifying) chosen(ctx context.Context, where *location) (list []target, problems []error, err error) {
	problems = where.problems
	for _, c := range where.checkpoints {
		problems = append(problems, c.Unread...)
		versions, err := c.Versions(ctx)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if gone := c.Gone(versions); gone != nil && where.version == nil {
			problems = append(problems, gone)
		}
		newest := offline.NewestComplete(versions)
		for i, v := range versions {
			t := target{c: c, v: v, part: -1, read: v.Complete() || w.all}
			switch {
			case where.version != nil:
				if v.ID != *where.version {
					continue
				}
				t.named, t.read = true, true
				t.part = where.rank()
			case w.latest && i != newest:
				continue
			}
			list = append(list, t)
		}
	}
	if where.version != nil && len(list) == 0 && len(problems) == 0 {
		err = fmt.Errorf("no such version: %s is gone", where.path)
	}
	return list, problems, err
}

// verifyTargets fills the result and returns how many versions were read.
func (p *program) verifyTargets(ctx context.Context, targets []target, result *verification) (read int, err error) {
	bar := p.startProgress(targets)
	defer bar.end()
	for _, t := range targets {
		bar.enter(t)
		verdict, vanished, err := t.verify(ctx)
		if err != nil {
			return read, err
		}
		if vanished {
			read++ // by the job that is writing: there is something newer
			continue
		}
		if t.read {
			read++
		}
		if verdict.Verdict != verdictOK && (!excused(verdict.Verdict) || t.named) {
			result.OK = false
		}
		result.Versions = append(result.Versions, verdict)
	}
	return read, nil
}

// excused verdicts are no failure of themselves.
func excused(verdict string) bool { return verdict == verdictIncomplete || verdict == verdictElsewhere }

// nothingRead says why no version was read.
func nothingRead(dir string, where *location, targets []target) error {
	for _, t := range slices.Backward(targets) {
		if t.v.Elsewhere {
			return fmt.Errorf("no such version: nothing of %s can be verified here: %w", dir, otherNodes(t.c, &t.v))
		}
	}
	if slices.ContainsFunc(where.checkpoints, func(c *offline.Checkpoint) bool { return storage.StoredInFirstStage(c.Runs) }) {
		return fmt.Errorf("no such version: %s holds no complete version, and a restart goes on from what checkpoints nested in it have stored: verify these", dir)
	}
	return fmt.Errorf("no such version: %s holds no complete version, so there is nothing to restart from (--all reads what is there)", dir)
}

func (r verification) print(s *screen) {
	t := newTable(left("CHECKPOINT"), right("VERSION"), left("ATTEMPT").drop(1), right("ITERATION").drop(2), right("PARTS"), right("SIZE"), left("VERDICT"))
	var found []finding
	for _, v := range r.Versions {
		parts := strconv.Itoa(v.Parts)
		if v.Ranks == 0 {
			parts = "-"
		}
		if v.Parts != v.Ranks && v.Ranks > 0 {
			parts = fmt.Sprintf("%d of %d", v.Parts, v.Ranks)
		}
		t.add(v.Checkpoint, strconv.FormatUint(v.Version, 10), short(v.Attempt), orDash(v.Iteration), parts, s.size(v.Bytes), v.Verdict)
		found = append(found, v.Findings...)
	}
	s.show(t, s.width)
	s.showFindings(found)
}

// showFindings prints what is wrong, if anything is.
func (s *screen) showFindings(found []finding) {
	if len(found) == 0 {
		return
	}
	t := newTable(left("FINDING"), left("FILE"), left("KEY"), right("OFFSET"), left("REASON"))
	for _, f := range found {
		t.add(f.Kind, string(f.File), f.Key, orDash(f.Offset), f.Reason)
	}
	s.show(t, 0) // never cut: this is what the user came for
}
