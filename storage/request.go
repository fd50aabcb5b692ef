package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// RequestKind is what somebody asks a running job for.
type RequestKind string

// The kinds.
const (
	RequestCheckpoint RequestKind = "checkpoint" // a version; the job goes on
	RequestHalt       RequestKind = "halt"       // to end, and not to be started again by itself
)

// Request is what the file REQUEST-<id>.json beside the versions asks a job for. Of a halt at most
// one of AfterCheckpoints and At is given; neither: as soon as possible.
type Request struct {
	Format int         `json:"format"` // 1
	Job    string      `json:"job"`    // as the lock has it: no other one takes the request
	Kind   RequestKind `json:"kind"`
	// AfterCheckpoints is how many complete versions the job is to store before it ends.
	AfterCheckpoints int `json:"after_checkpoints,omitempty"`
	// At is when it is to have ended.
	At      *time.Time `json:"at,omitempty"`
	Created time.Time  `json:"created"`
	By      string     `json:"by"` // user@host, for people
}

// AnswerState is how far a job is with a request.
type AnswerState string

// The states. Of those that are not final there is still a request.
const (
	AnswerWaiting AnswerState = "waiting" // the job knows of it: its time has not come, or versions are to be stored before
	AnswerAsked   AnswerState = "asked"   // all ranks are asked for it, and do it at a call that they agree on
	AnswerSaved   AnswerState = "saved"   // the version is safe
	AnswerFailed  AnswerState = "failed"  // nothing will be done: Error says why
)

// Answer is what the file ANSWER-<id>.json says of a request.
type Answer struct {
	Format int         `json:"format"` // 1
	State  AnswerState `json:"state"`
	At     time.Time   `json:"at"` // when that was so
	// Counted is how many versions have been stored of a halt that comes after some.
	Counted int `json:"counted,omitempty"`
	// The version that was stored, which may be of another checkpoint of the job.
	Checkpoint string `json:"checkpoint,omitempty"`
	Version    uint64 `json:"version,omitempty"`
	Iteration  *int64 `json:"iteration,omitempty"` // absent: it was written without one
	Attempt    string `json:"attempt,omitempty"`
	Level      string `json:"level,omitempty"`
	Error      string `json:"error,omitempty"`
}

// Final reports whether nothing more comes.
func (a *Answer) Final() bool { return a.State == AnswerSaved || a.State == AnswerFailed }

// Asked is a request as it was found. Of one that cannot be read, or asks for nothing that there is,
// Err says why, and Request is not valid.
type Asked struct {
	ID      string
	Request Request
	Answer  *Answer // nil: none yet, or none that can be read
	Err     error
	// Passing: with Err, it may be read later.
	Passing bool
	Written time.Time // by the clock of the file system; zero: it does not tell
}

// RequestStore is implemented by drivers beside whose versions others can leave requests.
type RequestStore interface {
	// ListRequests returns the identities of the requests that there are, in no special order.
	ListRequests(ctx context.Context) ([]string, error)
	// ReadRequest matches fs.ErrNotExist if the request is gone.
	ReadRequest(ctx context.Context, id string) (Asked, error)
	// AnswerRequest writes, or replaces, the answer. If it is final, the request is removed. The
	// answer of a request that was withdrawn does not stay.
	AnswerRequest(ctx context.Context, id string, a Answer) error
	// RemoveRequest removes a request and its answer, durably, and reports whether the request was there.
	RemoveRequest(ctx context.Context, id string) (was bool, err error)
}

// Limits of what a request says, since it is shown to people, in bytes and in versions.
const (
	requestTextLimit = 256
	requestMost      = 1_000_000_000
)

// Validate returns an error that says what is wrong with a request.
func (r *Request) Validate() error {
	halt := r.Kind == RequestHalt
	switch {
	case r.Format != 1:
		return fmt.Errorf("format %d: this program knows format 1", r.Format)
	case !isText(r.Job):
		return fmt.Errorf("job %q: it must be a name of 1 to %d bytes", clipped(r.Job), requestTextLimit)
	case r.Kind != RequestCheckpoint && !halt:
		return fmt.Errorf("kind %q: allowed are %s and %s", clipped(string(r.Kind)), RequestCheckpoint, RequestHalt)
	case !isText(r.By):
		return fmt.Errorf("by %q: it must be a name of 1 to %d bytes", clipped(r.By), requestTextLimit)
	case r.AfterCheckpoints < 0 || r.AfterCheckpoints > requestMost:
		return fmt.Errorf("after_checkpoints %d: allowed are 1 to %d", r.AfterCheckpoints, requestMost)
	case !halt && (r.AfterCheckpoints != 0 || r.At != nil):
		return fmt.Errorf("after_checkpoints and at are for the kind %s", RequestHalt)
	case r.AfterCheckpoints != 0 && r.At != nil:
		return errors.New("after_checkpoints and at: only one of them is allowed")
	}
	return nil
}

// When says in words when a halt is to come.
func (r *Request) When() string {
	switch {
	case r.AfterCheckpoints == 1:
		return "after 1 checkpoint"
	case r.AfterCheckpoints > 1:
		return fmt.Sprintf("after %d checkpoints", r.AfterCheckpoints)
	case r.At != nil:
		return "at " + r.At.Local().Format("2006-01-02 15:04:05")
	}
	return "now"
}

func isText(s string) bool {
	return s != "" && len(s) <= requestTextLimit && utf8.ValidString(s)
}

func clipped(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}
	return s
}

// ParseRequest reads a request. A field that this program does not know is an error: it could be a
// condition.
func ParseRequest(data []byte) (r Request, err error) {
	if err := formatOne(data); err != nil {
		return Request{}, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Request{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Request{}, errors.New("there is more behind the JSON object")
	}
	if err := r.Validate(); err != nil {
		return Request{}, err
	}
	return r, nil
}

// ParseAnswer reads an answer. Fields may be added to it.
func ParseAnswer(data []byte) (a Answer, err error) {
	if err := formatOne(data); err != nil {
		return Answer{}, err
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return Answer{}, err
	}
	switch a.State {
	case AnswerWaiting, AnswerAsked, AnswerSaved, AnswerFailed:
		return a, nil
	}
	return Answer{}, fmt.Errorf("state %q is not known", clipped(string(a.State)))
}

func formatOne(data []byte) error {
	var is struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(data, &is); err != nil {
		return fmt.Errorf("no JSON object as it should be: %w", err)
	}
	if is.Format == nil {
		return errors.New("it has no format")
	}
	if *is.Format != 1 {
		return fmt.Errorf("format %d: this program knows format 1", *is.Format)
	}
	return nil
}
