package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// reported is the JSON document of craft report.
type reported struct {
	Path osstring.String  `json:"path"`
	Runs []storage.Record `json:"runs"` // by checkpoint, oldest first
	// Requests are those to the jobs that write there.
	Requests []listedRequest `json:"requests"`
	// Milestones are the versions that are kept for their labels, by checkpoint, oldest first.
	Milestones []reportedMark `json:"milestones"`
}

// reportedMark is a label of a version.
type reportedMark struct {
	Checkpoint string     `json:"checkpoint"`
	Version    uint64     `json:"version"`
	Directory  string     `json:"directory"`
	Label      string     `json:"label"`
	ByHand     bool       `json:"by_hand"` // by craft keep
	Created    *time.Time `json:"created"`
}

func (p *program) reportCommand() *cobra.Command {
	return p.overview("records of runs", p.report, &cobra.Command{
		Use:   "report [DIR]",
		Short: "Tell what checkpoints have cost in the latest runs",
		Long: `Tell what checkpoints have cost in the latest runs.

DIR is a base directory that holds checkpoints, or one checkpoint; without it,
CRAFT_CP_PATH or the working directory. Of each run: how long the program waited
for checkpoints (CP) and for its restart (RESTART), the largest values of any
rank; how often the job was repaired before, after failures, and how long that
took (RECOVERIES, RECOVERY); how long it did again what an earlier run had done (REDO);
the share of CP and the writer's processor time (one
processor) in the time of the run; and rank 0's phases. A run whose length ends with + goes on, or was killed; END says
whether it was finished, or was asked to end (by a signal, a deadline, craft halt, Ctrl-C).`,
		Example: `  craft report cp
  craft report --json cp/lanczos`,
	})
}

func (p *program) report(ctx context.Context, where *location) (seen overview, err error) {
	r := reported{Path: osstring.String(where.path), Runs: []storage.Record{}, Milestones: []reportedMark{}}
	var dirs []string
	for _, c := range where.checkpoints {
		records, err := filestore.Records(p.fs, c.Store.Dir())
		if err != nil {
			seen.problems = append(seen.problems, err)
		}
		r.Runs = append(r.Runs, records...)
		dirs = append(dirs, c.Store.Dir())
		for _, m := range c.Marks {
			r.Milestones = append(r.Milestones, reportedMark{
				Checkpoint: c.Name, Version: m.ID.Version, Directory: m.ID.String(), Label: labelText(m), ByHand: m.ByHand, Created: documentTime(m.Created),
			})
		}
	}
	var unread []error
	r.Requests, unread = jobs{p}.requestsAt(ctx, dirs)
	seen.problems = append(seen.problems, unread...)
	seen.document, seen.empty = r, len(r.Runs)+len(r.Milestones) == 0
	return seen, nil
}

func (r reported) print(s *screen) {
	t := newTable(
		left("CHECKPOINT"), left("STARTED"), right("RUN"), right("RANKS").drop(3), left("MODE"), right("FROM"), right("VERSIONS"), right("FAILED").drop(2),
		right("CP"), right("RESTART"), right("RECOVERIES").drop(4), right("RECOVERY").drop(4), right("REDO").drop(3), right("SHARE"), right("COPY").drop(5),
		right("WAIT").drop(5), right("WRITE").drop(5), right("SETTLE").drop(5),
	)
	ends := slices.ContainsFunc(r.Runs, func(run storage.Record) bool { return endText(run) != "" })
	if ends {
		t.columns = append(t.columns, left("END"))
	}
	for _, run := range r.Runs {
		wall := run.Updated.Sub(run.Started)
		length, share := duration(wall.Seconds()), "-"
		if run.Ended == nil {
			length += "+"
		}
		if wall > 0 {
			share = fmt.Sprintf("%.2f%%", 100*(run.Overheads.Checkpoint+run.WriterCPU)/wall.Seconds())
		}
		cells := []string{run.Checkpoint, s.moment(&run.Started), length, strconv.Itoa(run.Ranks), run.Mode,
			orDash(run.RestoredIteration), strconv.Itoa(run.VersionsWritten), strconv.Itoa(run.VersionsFailed),
			duration(run.Overheads.Checkpoint), duration(run.Overheads.Restart),
			strconv.Itoa(run.Recoveries), duration(run.Overheads.Recovery), duration(run.Overheads.Recomputation), share,
			duration(run.Phases.Copy), duration(run.Phases.Wait), duration(run.Phases.Write), duration(run.Phases.Settle)}
		if ends {
			cells = append(cells, endText(run))
		}
		t.add(cells...)
	}
	if len(t.rows) > 0 {
		s.show(t, s.width)
	}
	r.printMilestones(s)
	sayHalts(s, r.Requests)
}

// endText is how a run has come to its end, if it was asked for that or was finished.
func endText(run storage.Record) string {
	if run.Finished {
		return "finished"
	}
	return run.End
}

func (r reported) printMilestones(s *screen) {
	t := newTable(left("CHECKPOINT"), left("MILESTONE"), right("VERSION"), left("BY"), left("SINCE"))
	for _, m := range r.Milestones {
		by := "the program"
		if m.ByHand {
			by = "craft keep"
		}
		t.add(m.Checkpoint, m.Label, strconv.FormatUint(m.Version, 10), by, s.moment(m.Created))
	}
	if len(t.rows) > 0 {
		s.show(t, s.width)
	}
}

func duration(seconds float64) string {
	if seconds >= time.Duration(math.MaxInt64).Seconds() {
		return ">2562047h" // more cannot be said
	}
	return time.Duration(seconds * float64(time.Second)).Round(10 * time.Microsecond).String()
}
