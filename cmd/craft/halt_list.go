package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
)

// requestListing is the JSON document of craft halt --list, and of --cancel.
type requestListing struct {
	Path     osstring.String `json:"path"`
	Requests []listedRequest `json:"requests"`
}

// listedRequest is a request beside a checkpoint.
type listedRequest struct {
	ID               string          `json:"id"`
	Checkpoint       string          `json:"checkpoint"`
	Path             osstring.String `json:"path"` // of the checkpoint
	Job              string          `json:"job"`
	Kind             string          `json:"kind"`
	AfterCheckpoints int             `json:"after_checkpoints,omitempty"`
	Counted          int             `json:"counted,omitempty"` // that were stored since
	At               *time.Time      `json:"at"`
	Created          *time.Time      `json:"created"`
	By               string          `json:"by"`
	State            string          `json:"state"`
	Error            string          `json:"error,omitempty"`
	// Canceled is set by --cancel: it is not there any more.
	Canceled bool `json:"canceled,omitempty"`

	when string
}

// The states of requests, beside those that a job gives.
const (
	requestNew        = "new"        // the job has not answered yet
	requestStale      = "stale"      // it is to a job that does not write here any more
	requestUnreadable = "unreadable" // or the job has not refused it yet
)

// describeRequest says how far a request is; l is the lock of the checkpoint, or nil.
func describeRequest(dir string, a storage.Asked, l *lockInfo) listedRequest {
	q := a.Request
	out := listedRequest{
		ID: a.ID, Checkpoint: checkpointName(dir), Path: osstring.String(dir), Job: q.Job, Kind: string(q.Kind),
		AfterCheckpoints: q.AfterCheckpoints, Created: documentTime(q.Created), By: q.By, State: requestNew, when: "-",
	}
	if q.At != nil {
		out.At = documentTime(*q.At)
	}
	if q.Kind == storage.RequestHalt {
		out.when = q.When()
	}
	if a.Answer != nil {
		out.State, out.Counted, out.Error = string(a.Answer.State), a.Answer.Counted, a.Answer.Error
		if out.Counted > 0 {
			out.when += fmt.Sprintf(" (%d stored)", out.Counted)
		}
	}
	switch {
	case errors.Is(a.Err, fs.ErrNotExist) && a.Answer != nil: // the request is gone, and nobody has taken the answer
	case a.Err != nil:
		out.State, out.Error = requestUnreadable, a.Err.Error()
	case a.Answer != nil && a.Answer.Final():
	case l == nil || l.Job != q.Job || l.State == "dead":
		out.State = requestStale
	}
	return out
}

func checkpointName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

// over reports whether nothing will become of a request any more.
func (r *listedRequest) over() bool {
	return r.State == requestStale || r.State == requestUnreadable || r.State == string(storage.AnswerFailed) || r.State == string(storage.AnswerSaved)
}

// waits says in a sentence what is about to happen to the job; "": nothing.
func (r *listedRequest) waits(s *screen) string {
	if r.Kind != string(storage.RequestHalt) || r.over() {
		return ""
	}
	return fmt.Sprintf("checkpoint %s: its job is to halt, %s, asked by %s %s (%s)", r.Checkpoint, r.when, r.By, s.moment(r.Created), r.State)
}

// sayHalts says which jobs are about to end.
func sayHalts(s *screen, requests []listedRequest) {
	for _, r := range requests {
		if text := r.waits(s); text != "" {
			s.say("%s", text)
		}
	}
}

// readRequests lists the requests beside a checkpoint.
func (j jobs) readRequests(ctx context.Context, dir string, l *lockInfo) (list []listedRequest, err error) {
	all, err := j.requestsOf(dir).All(ctx)
	for _, a := range all {
		list = append(list, describeRequest(dir, a, l))
	}
	return list, err
}

// requestsAt lists those beside all checkpoints of a list.
func (j jobs) requestsAt(ctx context.Context, dirs []string) (list []listedRequest, problems []error) {
	list = []listedRequest{}
	for _, dir := range dirs {
		l, err := readLock(j.p.fs, dir)
		var some []listedRequest
		if err == nil {
			some, err = j.readRequests(ctx, dir, l)
		}
		if err != nil {
			problems = append(problems, err)
		}
		list = append(list, some...)
	}
	return list, problems
}

func (j jobs) listRequests(ctx context.Context, dir string) error {
	dirs, err := j.checkpointsAt(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist%s: no checkpoint", dir, hint(j.p.fs, dir))
	}
	if err != nil {
		return err
	}
	l := requestListing{Path: osstring.String(dir)}
	seen := overview{nothing: "no requests to jobs in " + dir}
	l.Requests, seen.problems = j.requestsAt(ctx, dirs)
	seen.document, seen.empty = l, len(l.Requests) == 0
	return j.p.present(seen)
}

func (l requestListing) print(s *screen) {
	t := newTable(left("CHECKPOINT"), left("REQUEST").drop(1), left("KIND"), left("WHEN"), left("STATE"), left("JOB").drop(2), left("BY").drop(4), left("CREATED").drop(3))
	for _, r := range l.Requests {
		t.add(r.Checkpoint, r.ID, r.Kind, r.when, r.State, r.Job, r.By, s.moment(r.Created))
	}
	s.show(t, s.width)
	for _, r := range l.Requests {
		if r.Error != "" {
			s.say("request %s: %s", r.ID, r.Error)
		}
	}
}

// cancelRequests takes halts back, and removes what nobody will answer.
func (j jobs) cancelRequests(ctx context.Context, job string) error {
	dirs, byName, err := j.checkpointsOf(job)
	if err != nil {
		return err
	}
	l := requestListing{Path: osstring.String(job), Requests: []listedRequest{}}
	all, problems := j.requestsAt(ctx, dirs)
	seen := overview{nothing: "nothing to take back: no halt in " + job, problems: problems}
	for _, r := range all {
		if byName && !isJob(r.Job, job) || !r.over() && r.Kind != string(storage.RequestHalt) {
			continue
		}
		if r.over() || r.State != string(storage.AnswerAsked) {
			_, err := j.requestsOf(string(r.Path)).RemoveRequest(ctx, r.ID)
			if r.Canceled = err == nil; err != nil {
				seen.problems = append(seen.problems, err)
			}
		}
		l.Requests = append(l.Requests, r)
	}
	seen.document, seen.empty = cancellation{l}, len(l.Requests) == 0
	for _, r := range l.Requests {
		seen.failed = seen.failed || !r.Canceled
	}
	return j.p.present(seen)
}

// cancellation is what --cancel has done.
type cancellation struct{ requestListing }

func (c cancellation) print(s *screen) {
	for _, r := range c.Requests {
		switch {
		case r.Canceled && r.over():
			s.say("removed request %s (%s) of checkpoint %s", r.ID, r.State, r.Checkpoint)
		case r.Canceled:
			s.say("the job of checkpoint %s goes on: its halt, %s, is taken back", r.Checkpoint, r.when)
		case r.State == string(storage.AnswerAsked):
			s.say("too late: the job of checkpoint %s is about to end, as all its ranks are asked to", r.Checkpoint)
		}
	}
}
