package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/storage"
)

// ErrDeadline is returned on all ranks by the call at which the job has saved what it has and is to
// end, and by every later call, which writes nothing. It is also what aft.Run returns then. See
// DeadlineError, ExitCode and ExitMessage.
var ErrDeadline = errors.New("the job is to end")

// DeadlineError says why a job is to end, and what it leaves. It matches ErrDeadline.
type DeadlineError struct {
	Source string // who has asked for it: "SIGTERM at n01, process 4711", "CRAFT_DEADLINE"
	// Version is what a restart goes on from, and Iteration that of it (NoIteration: it has none); 0:
	// there is no version.
	Version   uint64
	Iteration int64
	// Saved: it was written at this call.
	Saved bool
	// Level is where it is, if it is not on the parallel file system; none: it is there.
	Level storage.Levels
	// Starts is how many starts in a row have ended without a newer version, this one included, when
	// they are so many that another one would be of no use.
	Starts int
	// Err is why it could not be written at this call, is not on the parallel file system, or is no milestone.
	Err error

	cause demand.Cause
	needs string     // what a start that gets anywhere needs
	quiet bool       // another process of the job says it: see ExitMessage
	id    storage.ID // of the version
	// nested: there is no version, but one of a checkpoint nested in this one, of the first stage.
	nested bool
}

// Error tells what is stored, and what to do.
func (e *DeadlineError) Error() string {
	text := fmt.Sprintf("%v (%s): ", ErrDeadline, e.Source)
	switch {
	case e.Version == 0 && e.nested:
		text += "no version of this checkpoint is stored, but of one nested in it: the next start goes on from that"
	case e.Version == 0:
		text += "nothing is stored, the next start begins at the beginning"
	case e.Saved:
		text += fmt.Sprintf("version %d, of iteration %v, is stored", e.Version, iterationAttr(e.Iteration))
	default:
		text += fmt.Sprintf("the last version is %d, of iteration %v", e.Version, iterationAttr(e.Iteration))
	}
	if e.Level != 0 {
		text += fmt.Sprintf(", not on the parallel file system, but at level %v", e.Level)
	}
	if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	switch {
	case e.Starts > 0:
		text += fmt.Sprintf("; %d starts in a row have ended without a newer version, so it is not to be started again like this: %s", e.Starts, e.needs)
	case errors.Is(e.Err, ErrGuard):
	case e.cause == demand.Halt:
		text += "; it was halted: it is not to be started again by itself"
	case e.Version > 0:
		text += "; start it again to go on from there"
	}
	return text
}

// Unwrap gives ErrDeadline and Err.
func (e *DeadlineError) Unwrap() []error { return []error{ErrDeadline, e.Err} }

// Everywhere says that all ranks return this error together: see aft.Everywhere.
func (e *DeadlineError) Everywhere() bool { return true }

// The exit codes of a program that ends with os.Exit(ExitCode(err)); others are its own.
const (
	ExitDone      = 0
	ExitFailed    = 1
	ExitRequeue   = demand.ExitRequeue   // 75 (EX_TEMPFAIL): start it again, it goes on (CRAFT_REQUEUE_CODE)
	ExitHalted    = demand.ExitHalted    // 76, ended by craft halt: do not start it again by itself
	ExitInterrupt = demand.ExitInterrupt // 130, Ctrl-C; what it has is saved
)

// ExitCode is the exit code for what a program has returned: ExitDone without an error, ExitRequeue (or
// CRAFT_REQUEUE_CODE), ExitHalted or ExitInterrupt for ErrDeadline, and where aft.Run says that a process was lost for whose
// repair the end leaves no time, and ExitFailed for everything else,
// also where starts in a row have got nowhere, where a guard has refused the last version, and where checkpoints are switched off.
func ExitCode(err error) int {
	var d *DeadlineError
	var late *demand.EndError // of a recovery
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &d) && (d.Starts > 0 || errors.Is(err, ErrGuard)):
		return ExitFailed
	case d != nil && cmp.Or(d.cause, demand.Deadline) == demand.Deadline && errors.Is(d.Err, errOff):
		return ExitFailed // it would begin anew each time
	case d != nil:
		return cmp.Or(d.cause, demand.Deadline).ExitCode(requeueCode())
	case errors.As(err, &late) && late.Cause == demand.Deadline && ofStarts.endless():
		return ExitFailed
	case late != nil:
		return late.Cause.ExitCode(requeueCode())
	}
	return ExitFailed
}

// requeueCode is ExitRequeue, or what the site wants in its place.
func requeueCode() int {
	var c endConfig
	if cmp.Or(env.Load(&c), c.validate()) != nil { // New has said it
		return ExitRequeue
	}
	return c.RequeueCode
}

// ExitMessage is what a program says at its end of what it has returned, a line for its standard error: the
// error. It is empty without one, and for ErrDeadline on all processes of the job but that of rank 0, since all have the
// same: so a job says once why it ends, and what it leaves. So it is, where each process is a rank of a launcher, of what has failed on
// another rank (aft.BodyError, RankError), which says it, and of a repair that is not begun any more, as the launcher says.
func ExitMessage(err error) string {
	if err == nil || quiet(err) {
		return ""
	}
	return err.Error() + "\n"
}

// quiet reports whether all that is in an error is said by another process.
func quiet(err error) bool {
	switch e := err.(type) {
	case *DeadlineError:
		return e.quiet
	case interface{ Elsewhere() bool }: // an error in it that is another rank's does not make it that
		return e.Elsewhere() && env.CurrentRole() == env.RoleRank
	case interface{ Unwrap() []error }:
		list := e.Unwrap()
		return len(list) > 0 && !slices.ContainsFunc(list, func(one error) bool { return !quiet(one) })
	case interface{ Unwrap() error }:
		return quiet(e.Unwrap())
	}
	return false
}

// endConfig holds the settings of how a program ends (docs/ending.md).
type endConfig struct {
	RequeueCode int           `envconfig:"REQUEUE_CODE" default:"75"`
	Signals     string        `envconfig:"SIGNALS" default:"TERM=end,INT=end,USR2=end,USR1=save"`
	Grace       time.Duration `envconfig:"GRACE" default:"25s"`
}

func (c endConfig) validate() error {
	_, signals := parseSignals(c.Signals)
	code := c.RequeueCode
	return cmp.Or(
		allowIf(demand.MayRequeue(code), "CRAFT_REQUEUE_CODE", code),
		signals, allowIf(c.Grace > 0, "CRAFT_GRACE", c.Grace),
	)
}

// Request asks the job that this process is part of to end within a time, by itself: it is one of its
// deadlines, of which the earliest counts, and is used as far as the last version allows. source is
// who asks, for people; who asks again changes what it has asked for. left 0: at the next
// call. Any goroutine may call it.
func Request(source string, left time.Duration) {
	d := demand.Demand{Cause: demand.Deadline, Source: source, Left: left, Planned: left > 0}
	if left <= 0 {
		d.Left = demand.NoLimit
	}
	demand.This.Ask(d)
}

// RequestVersion asks the job that this process is part of for a version at the next call. Any
// goroutine may call it.
func RequestVersion(source string) {
	demand.This.Ask(demand.Demand{Source: source, Left: demand.NoLimit})
}
