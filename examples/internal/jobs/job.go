package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/stepwise"
	"github.com/craft-go/craft/internal/timeline"
)

// Job is what all ranks of this process share.
type Job struct {
	Loop
	Log    *slog.Logger
	Stderr io.Writer
	Die    func(pid int) error // DieWith; a test may have another one

	named  sync.Once
	began  time.Time
	parent int     // the process that has started this one
	ranks  []*Rank // by original rank; one if each rank is a process

	timeline *timeline.Log
}

// NewJob is a job that has not begun. Nothing but warnings is logged.
func NewJob(l Loop, stderr io.Writer) *Job {
	stderr = &oneAtATime{w: stderr}
	j := &Job{
		Loop: l, Stderr: stderr, Die: DieWith, began: time.Now(), parent: os.Getppid(),
		Log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	var err error
	if j.timeline, err = timeline.FromEnvironment(); err != nil {
		j.Log.Warn("nothing is noted", "error", err)
	}
	for range l.Goroutines {
		j.ranks = append(j.ranks, &Rank{Job: j, number: -1, restartedFrom: Unknown})
	}
	return j
}

// oneAtATime is a writer for the log and the program, which write from goroutines of their own.
type oneAtATime struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneAtATime) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// Launch starts the ranks that -np asks for, as processes, and waits for their
// end; then started is true, and code what this process should exit with.
func (j *Job) Launch() (code int, started bool) {
	return j.Flags.Launch(context.Background(), j.Log, j.Stderr)
}

// ZoneOptions are those that the flags ask for.
func (j *Job) ZoneOptions() []aft.Option { return j.Flags.ZoneOptions(j.Log) }

// CheckpointOptions are those that the flags ask for. The problem is what makes two
// runs runs of one job: a checkpoint of another one is not used.
func (j *Job) CheckpointOptions(problem any) []checkpoint.Option {
	return append(j.Flags.CheckpointOptions(), checkpoint.WithFingerprint(problem), checkpoint.WithLogger(j.Log))
}

// Name is Loop.Name, for a program that knows its problem when its ranks have met. All ranks
// call it with the same name, before they ask for CheckpointOptions.
func (j *Job) Name(problem string) { j.named.Do(func() { j.Loop.Name(problem) }) }

// Rank is the rank whose attempt begins in z.
func (j *Job) Rank(z *aft.Zone) *Rank {
	stepwise.Begin(z)
	r := j.ranks[int(z.Original())%len(j.ranks)]
	r.zone, r.number, r.outcome, r.cp = z, z.Comm().Rank(), nil, nil
	_ = r.meet(z.Context(), timeline.Event{What: timeline.Entered}) // the body will see that the attempt is over
	return r
}

// End prints the result, or why there is none, and returns the exit code. When
// ranks are processes only one of them prints.
func (j *Job) End(err error, stdout io.Writer) int {
	if err != nil {
		return j.Failed(err, j.ranks[0].number, j.Stderr)
	}
	for _, r := range j.ranks {
		if r.number != 0 || r.outcome == nil {
			continue
		}
		if err := errors.Join(j.print(r.outcome, stdout), j.forget()); err != nil {
			fmt.Fprintf(j.Stderr, "%s: write the result: %v\n", j.program, err)
			return ExitFailed
		}
	}
	return ExitDone
}

func (j *Job) print(o Outcome, w io.Writer) error {
	r := o.common()
	r.Seconds = r.Over(time.Since(j.began))
	if j.JSON {
		return json.NewEncoder(w).Encode(o)
	}
	return o.Print(w)
}
