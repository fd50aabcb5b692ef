package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
)

// halting is what the flags of craft halt say.
type halting struct {
	after             int
	at                string
	now, list, cancel bool
}

func haltCommand(p *program) *cobra.Command {
	var h halting
	cmd := &cobra.Command{
		Use:   "halt JOB",
		Short: "Have a running job store a version and end",
		Long: `Have a running job store a version and end, so that it is not started again by itself.

JOB is a checkpoint that the job has open: its directory, or its name below
CRAFT_CP_PATH; or the job's name, or the beginning of it, as craft ls --json shows
it ("lock"). All ranks end at the same call of a checkpoint, with a version that
is safe; the program then exits with 76. With --at the job ends so that everything
is over by then. A halt is for this job alone, and is forgotten when that has
ended; craft halt --cancel takes it back before.

--list shows the requests to all jobs below a directory (without one: CRAFT_CP_PATH,
or the working directory).`,
		Example: `  craft halt cp/lanczos
  craft halt --after-checkpoints 2 lanczos
  craft halt --at 18:00 lanczos
  craft halt --list
  craft halt --cancel lanczos`,
		Args: func(cmd *cobra.Command, args []string) error {
			if h.list {
				return directories(0)(cmd, args)
			}
			return oneJob(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.check(cmd); err != nil {
				return err
			}
			switch {
			case h.list:
				return jobs{p}.listRequests(cmd.Context(), append(args, defaultBase())[0])
			case h.cancel:
				return jobs{p}.cancelRequests(cmd.Context(), args[0])
			}
			return jobs{p}.halt(cmd.Context(), args[0], h)
		},
	}
	cmd.Flags().IntVar(&h.after, "after-checkpoints", 0, "end when it has stored so `many` versions from now on")
	cmd.Flags().StringVar(&h.at, "at", "", "have ended at this `time`: 18:00, 2026-11-30T18:00, with a zone as in RFC 3339, or +90m")
	cmd.Flags().BoolVar(&h.now, "now", false, "end as soon as possible, as it does without a flag")
	cmd.Flags().BoolVar(&h.list, "list", false, "show what jobs are asked for")
	cmd.Flags().BoolVar(&h.cancel, "cancel", false, "take back what was asked for and is not carried out yet")
	p.jsonFlag(cmd, "messages")
	return cmd
}

// check refuses flags that exclude each other.
func (h *halting) check(cmd *cobra.Command) error {
	var given []string
	for _, name := range []string{"after-checkpoints", "at", "now", "list", "cancel"} {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return &usageError{fmt.Errorf("%s exclude each other", strings.Join(given, " and "))}
	}
	if cmd.Flags().Changed("after-checkpoints") && h.after < 1 {
		return &usageError{fmt.Errorf("--after-checkpoints %d: it must be at least 1", h.after)}
	}
	return nil
}

// asked is the JSON document of craft halt.
type asked struct {
	Job     string          `json:"job"`
	Path    osstring.String `json:"path"` // of the checkpoint
	Request listedRequest   `json:"request"`

	lock *lockInfo
	when string
}

func (a *asked) print(s *screen) {
	s.say("job %s (process %d on host %s) is asked to halt, %s; take it back: craft halt --cancel %s", a.Job, a.lock.PID, a.lock.Host, a.when, a.Path)
	if a.lock.State == "unknown" {
		s.say("from here it cannot be seen whether the job runs; craft halt --list %s shows whether it has heard of it", a.Path)
	}
}

func (j jobs) halt(ctx context.Context, job string, h halting) error {
	q := storage.Request{Format: 1, Kind: storage.RequestHalt, AfterCheckpoints: h.after, Created: j.p.screen.now().UTC().Truncate(time.Second), By: whoAsks()}
	if h.at != "" {
		at, err := parseTime(h.at, j.p.screen.now())
		if err != nil {
			return &usageError{fmt.Errorf("--at %q: %w", h.at, err)}
		}
		at = at.UTC()
		q.At = &at
	}
	to, err := j.findJob(ctx, "halt", job)
	if err != nil {
		return err
	}
	q.Job = to.id
	id, err := j.requestsOf(to.dir).Ask(q)
	if err != nil {
		return fmt.Errorf("the request cannot be left beside the checkpoint: %w", err)
	}
	a := &asked{Job: to.id, Path: osstring.String(to.dir), lock: to.lock, when: q.When(), Request: describeRequest(to.dir, storage.Asked{ID: id, Request: q}, to.lock)}
	return j.p.present(overview{document: a})
}

// parseTime reads a time of the clock: the next one, if it has no date; or how long from now.
func parseTime(text string, now time.Time) (time.Time, error) {
	if ahead, is := strings.CutPrefix(text, "+"); is {
		d, err := time.ParseDuration(ahead)
		if err != nil || d <= 0 {
			return time.Time{}, errors.New("behind + there has to be a duration such as 90s or 1h30m, more than 0")
		}
		return now.Add(d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if err != nil {
			at, err = time.ParseInLocation(layout, text, now.Location())
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if clock, no := time.Parse(layout, text); err != nil && no == nil {
			today := func(days int) time.Time {
				return time.Date(now.Year(), now.Month(), now.Day()+days, clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
			}
			if at, err = today(0), nil; !at.After(now) {
				at = today(1)
			}
		}
	}
	switch {
	case err != nil:
		return time.Time{}, errors.New("allowed are a time of the day such as 18:00, one with its date such as 2026-11-30T18:00 (and with a zone, as in RFC 3339), or +90m")
	case !at.After(now):
		return time.Time{}, errors.New("that is over")
	}
	return at, nil
}
