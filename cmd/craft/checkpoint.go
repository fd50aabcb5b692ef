package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// safeVersion is the JSON document of craft checkpoint.
type safeVersion struct {
	Job        string          `json:"job"`
	Path       osstring.String `json:"path"` // of the checkpoint that was asked
	Checkpoint string          `json:"checkpoint"`
	Version    uint64          `json:"version"`
	Attempt    string          `json:"attempt"`
	Iteration  *int64          `json:"iteration"`
	Level      string          `json:"level"`
}

func (v *safeVersion) print(s *screen) {
	at := ""
	if v.Iteration != nil {
		at = fmt.Sprintf(" of iteration %d", *v.Iteration)
	}
	fmt.Fprintf(s, "version %d%s of checkpoint %s: %s\n", v.Version, at, printable(v.Checkpoint), printable(v.Level))
}

func checkpointCommand(p *program) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "checkpoint JOB",
		Short: "Have a running job store a version, and wait until it is safe",
		Long: `Have a running job store a version, and wait until it is safe.

JOB is a checkpoint that the job has open: its directory, or its name below
CRAFT_CP_PATH; or the job's name, or the beginning of it, as craft ls --json shows
it ("lock"). The job stores a version at its next call of a checkpoint, of the
checkpoint of that call. When it is complete on all ranks, its number and the level
that it has reached are printed. An interrupted command takes its request back.`,
		Example: `  craft checkpoint cp/lanczos
  craft checkpoint --timeout 10m --json lanczos`,
		Args: oneJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout < 0 {
				return &usageError{fmt.Errorf("--timeout %v: it must not be negative", timeout)}
			}
			return jobs{p}.checkpoint(cmd.Context(), args[0], timeout)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "take the request back after so long; 0: wait as long as the job runs")
	p.jsonFlag(cmd, "text")
	return cmd
}

func (j jobs) checkpoint(ctx context.Context, job string, timeout time.Duration) error {
	to, err := j.findJob(ctx, "checkpoint", job)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%v has stored no version within %v (--timeout)", to, timeout))
		defer cancel()
		ctx = limited
	}
	w := &answerWait{p: j.p, job: to, files: j.requestsOf(to.dir), began: time.Now()}
	w.id, err = w.files.Ask(storage.Request{
		Format: 1, Job: to.id, Kind: storage.RequestCheckpoint, Created: j.p.screen.now().UTC().Truncate(time.Second), By: whoAsks(),
	})
	if err != nil {
		return fmt.Errorf("the request cannot be left beside the checkpoint: %w", err)
	}
	answer, err := w.wait(ctx)
	if _, gone := w.files.RemoveRequest(context.WithoutCancel(ctx), w.id); gone != nil {
		j.p.say("what is left of the request cannot be removed: %v", gone)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("the request is taken back, because of a signal")
	case err != nil:
		return err
	case answer.State == storage.AnswerFailed:
		return fmt.Errorf("%v has stored no version: %s", to, answer.Error)
	}
	return j.p.present(overview{document: &safeVersion{
		Job: to.id, Path: osstring.String(to.dir), Checkpoint: answer.Checkpoint, Version: answer.Version, Attempt: answer.Attempt,
		Iteration: answer.Iteration, Level: answer.Level,
	}})
}

// answerWait is a command that waits for the answer of a job.
type answerWait struct {
	p     *program
	job   *runningJob
	files *filestore.Requests
	id    string
	began time.Time

	silent time.Time // since when nothing was seen of the job; zero: it was
	sign   time.Time // of its lock
}

// How often is looked for an answer, and for the job.
const (
	answerEvery = 100 * time.Millisecond
	jobEvery    = time.Second
)

func (w *answerWait) wait(ctx context.Context) (*storage.Answer, error) {
	shown := jobs{w.p}.startWaiting()
	defer shown.end()
	answers, job := time.NewTicker(answerEvery), time.NewTicker(min(jobEvery, w.p.lock.Patience))
	defer answers.Stop()
	defer job.Stop()
	for {
		answer, err := w.files.ReadAnswer(w.id)
		switch {
		case err != nil:
			return nil, err
		case answer != nil && answer.Final():
			return answer, nil
		}
		shown.state(answer)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-answers.C:
		case <-job.C:
			if ended := w.ended(ctx); ended != nil {
				if answer, err := w.files.ReadAnswer(w.id); err == nil && answer != nil && answer.Final() {
					return answer, nil
				}
				return nil, ended
			}
		}
	}
}

// ended says why no answer will come any more; nil: it may.
func (w *answerWait) ended(ctx context.Context) error {
	if _, err := w.files.ReadRequest(ctx, w.id); errors.Is(err, fs.ErrNotExist) {
		return errors.New("the request was taken back by somebody else, or its directory is gone")
	}
	l, err := readLock(w.p.fs, w.job.dir)
	if err != nil {
		return nil // it may pass
	}
	switch {
	case l == nil: // given back; or about to be taken again, after a failure
		return w.isSilent(fmt.Errorf("%v has given the lock of %s back without storing a version for this request%s", w.job, w.job.dir, w.lastRun()))
	case l.Job != "" && l.Job != w.job.id:
		return fmt.Errorf("%v has ended, or has lost its lock: %s is locked by %v now", w.job, w.job.dir, l.owner)
	case l.State == "dead":
		ended := fmt.Errorf("%v has ended without storing a version for this request%s", w.job, w.lastRun())
		if l.owner.Daemon == nil { // else it may go on without this host
			return ended
		}
		return w.isSilent(ended)
	case l.State == "unknown" && l.LastSign != nil && l.LastSign.Equal(w.sign):
		return w.isSilent(fmt.Errorf("%v shows no sign of life", w.job))
	}
	if w.silent = (time.Time{}); l.LastSign != nil {
		w.sign = *l.LastSign
	}
	return nil
}

// isSilent returns the error if nothing has been seen of the job for long enough.
func (w *answerWait) isSilent(err error) error {
	if w.silent.IsZero() {
		w.silent = time.Now()
	}
	if time.Since(w.silent) < w.p.lock.Patience {
		return nil
	}
	return err
}

// lastRun says what the record of the run tells of its end.
func (w *answerWait) lastRun() string {
	records, _ := filestore.Records(w.p.fs, w.job.dir) // as far as they can be read
	if len(records) == 0 {
		return ""
	}
	last := records[len(records)-1]
	text := "; no version of its last run was complete"
	if last.LastWritten > 0 {
		text = fmt.Sprintf("; the last complete version of its last run is %d", last.LastWritten)
	}
	if last.Ended != nil && last.Ended.After(w.began.Add(-time.Hour)) {
		text += ", and it ended at " + last.Ended.Local().Format(time.DateTime)
	}
	return text
}
