package aft

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/env"
)

// Option changes one setting of a zone. It is the same on all ranks.
type Option func(*options)

// options are the settings of a zone: those of the environment (docs/environment.md), which
// options of Run win over, and others.
type options struct {
	Recovery      comm.Recovery    `envconfig:"COMM_RECOVERY_POLICY" default:"NON-SHRINKING"`
	Spawn         comm.SpawnPolicy `envconfig:"COMM_SPAWN_POLICY" default:"NO-REUSE"`
	RecoveryDelay delay            `envconfig:"RECOVERY_DELAY" default:"2s"`
	RecoveryGrace delay            `envconfig:"RECOVERY_GRACE" default:"1s"`

	logger          *slog.Logger
	ranks           int
	inProcess       bool
	cancelOnFailure bool
	synchronous     bool
}

// WithRecovery sets the recovery policy, as CRAFT_COMM_RECOVERY_POLICY does.
func WithRecovery(r comm.Recovery) Option { return func(o *options) { o.Recovery = r } }

// WithSpawn sets where replacements may run, as CRAFT_COMM_SPAWN_POLICY does.
func WithSpawn(s comm.SpawnPolicy) Option { return func(o *options) { o.Spawn = s } }

// WithLogger sets where the zone reports failures and recoveries;
// slog.Default() without it.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// WithRecoveryDelay sets how long a failure may be known before recovery starts
// though no operation has needed the process that failed, as CRAFT_RECOVERY_DELAY
// does. Never is for programs that run through failures: recovery starts only when a
// body returns with one, or calls Repair; a body that returns nil is not run again.
func WithRecoveryDelay(d time.Duration) Option {
	return func(o *options) { o.RecoveryDelay = delay(d) }
}

// WithRecoveryGrace sets how long a body may go on when it is rolled back (policy GLOBAL-RESTART), as
// CRAFT_RECOVERY_GRACE does; then its process is replaced. 0: those that have not ended when they hear of it
// are replaced at once. Never: they are waited for as with other policies.
func WithRecoveryGrace(d time.Duration) Option {
	return func(o *options) { o.RecoveryGrace = delay(d) }
}

// WithSynchronous leaves it to the body when it ends because of a failure: its context does not end, and
// nothing is revoked, before one returns. It asks FaultDetected where it may be left, and returns
// then; operations that need a process that has failed return an error as always.
func WithSynchronous() Option { return func(o *options) { o.synchronous = true } }

// WithRanks runs the body on n ranks that are goroutines of this process. They
// are a job of their own, which ends with the zone.
func WithRanks(n int) Option { return func(o *options) { o.ranks, o.inProcess = n, true } }

// WithCancelOnFailure ends the context of the body as soon as this process knows
// of any failure, not only when recovery has started.
func WithCancelOnFailure() Option { return func(o *options) { o.cancelOnFailure = true } }

func newOptions(opts []Option) (options, error) {
	o := options{logger: slog.Default()}
	if err := env.Load(&o); err != nil {
		return options{}, err
	}
	for _, opt := range opts {
		opt(&o)
	}
	if o.logger == nil {
		o.logger = slog.New(slog.DiscardHandler)
	}
	if o.inProcess && o.ranks < 1 {
		return o, fmt.Errorf("%w: WithRanks(%d): at least 1", ErrArgument, o.ranks)
	}
	return o, o.validate()
}

// through: bodies may run through failures.
func (o options) through() bool { return o.RecoveryDelay == delay(Never) }

func (o options) policy() comm.Policy {
	return comm.Policy{Recovery: o.Recovery, Spawn: o.Spawn, Synchronous: o.synchronous}
}

// grace is how long a body may go on in a roll-back; false: as long as it likes.
func (o options) grace() (grace time.Duration, limited bool) {
	return time.Duration(o.RecoveryGrace), o.Recovery == comm.GlobalRestart && o.RecoveryGrace != delay(Never)
}

// validate reports the first setting that is not allowed, by the name of its
// environment variable.
func (o options) validate() error {
	switch {
	case !slices.Contains(comm.Recoveries(), o.Recovery):
		return env.Invalid("CRAFT_COMM_RECOVERY_POLICY", string(o.Recovery))
	case !slices.Contains(comm.SpawnPolicies(), o.Spawn):
		return env.Invalid("CRAFT_COMM_SPAWN_POLICY", string(o.Spawn))
	case o.through() && o.Recovery == comm.Abort:
		return fmt.Errorf("%w: CRAFT_RECOVERY_DELAY=never is for bodies that run through failures, and with the recovery policy %s there is nothing behind one", ErrArgument, o.Recovery)
	case o.RecoveryDelay < delay(Never):
		return env.Invalid("CRAFT_RECOVERY_DELAY", o.RecoveryDelay.String())
	case o.RecoveryGrace < delay(Never):
		return env.Invalid("CRAFT_RECOVERY_GRACE", o.RecoveryGrace.String())
	case o.through() && o.Recovery == comm.GlobalRestart:
		return fmt.Errorf("%w: CRAFT_RECOVERY_DELAY=never is for programs that run through failures, and CRAFT_COMM_RECOVERY_POLICY=%s rolls all ranks back at once: give a time, or another policy", ErrArgument, o.Recovery)
	case o.synchronous && o.cancelOnFailure:
		return fmt.Errorf("%w: WithSynchronous leaves it to the body when it ends, and WithCancelOnFailure ends its context", ErrArgument)
	}
	return nil
}

// delay is a time of at least 0, or Never.
type delay time.Duration

// Never is the delay of what does not happen.
const Never time.Duration = -1

// Decode implements envconfig.Decoder.
func (d *delay) Decode(text string) error {
	if text == "never" {
		*d = delay(Never)
		return nil
	}
	parsed, err := time.ParseDuration(text)
	if err == nil && parsed < 0 {
		err = errors.New("a negative duration")
	}
	*d = delay(parsed)
	return err
}

// String is such as "2s", or "never".
func (d delay) String() string {
	if d == delay(Never) {
		return "never"
	}
	return time.Duration(d).String()
}
