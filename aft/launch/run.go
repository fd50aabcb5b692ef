package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/step"
)

// Run runs a job to its end and returns its exit code: 0, or the largest of the
// last processes of its ranks (128+n for signal n), where the codes of a job that was asked to end count less than others, and
// processes that are lost then count as what was asked for. The error says why a job
// could not be started (ErrConfig; code 2), why the code of one that was is not 0
// (ErrJob), or that output could not be written (ErrOutput; code 1, but 0 where that of
// standard error alone is lost, and 141 where a pipe has lost its reader and nothing else has
// asked for the end). A job that is deployed again (Config.Restarts) has the code of the last
// deployment. When ctx ends, the job is killed. When Run returns, no process of
// the job is left, unless the user has asked four times to end it and the system still held
// up the start of one.
func Run(ctx context.Context, cfg Config) (code int, err error) {
	if err := notInAJob(); err != nil {
		return exitUsage, configError(err)
	}
	if err := step.Refuse(true); err != nil {
		return exitUsage, configError(err)
	}
	p, err := prepare(cfg)
	if err != nil {
		return exitUsage, configError(err)
	}
	d, err := newDeployments(p)
	switch {
	case errors.Is(err, ErrConfig):
		return exitUsage, err
	case err != nil:
		return exitFailed, err
	}
	stop := func() {}
	if !cfg.NoSignals {
		stop = lead(d)
	}
	code, report, err := d.run(ctx)
	stop()
	switch {
	case err != nil:
		return code, err
	case report != "":
		if errors.Is(d.lost, ErrAbandoned) {
			report += "\n" + d.lost.Error()
		}
		return code, &reported{report, ErrJob, d.lost}
	case d.lost != nil:
		if code == exitOK && d.lostResults { // who only lacks diagnostics has them
			code = exitFailed
		}
		return code, fmt.Errorf("%w: %w", ErrOutput, d.lost)
	}
	return code, nil
}

// lead has the signals of this process be the job's, until stop.
func lead(d *deployments) (stop func()) {
	uncatch := catchSignals(d.signal)
	asked, leave := demand.This.Lead()
	switch {
	case asked == nil:
	case asked.Cause == demand.Interrupt:
		d.signal(syscall.SIGINT)
	default:
		d.signal(syscall.SIGTERM)
	}
	return func() {
		uncatch()
		leave()
	}
}

// Option changes what Self runs.
type Option func(*Config)

// Self lets a program start itself as a job of n ranks, with the arguments that it was
// called with; if it has started that, the program reports err and exits with code.
// In a process that has a role, and for n = 0, it does nothing, except that a
// daemon runs here if Daemon was not called. n < 0 is an error.
func Self(ctx context.Context, n int, opts ...Option) (code int, started bool, err error) {
	if code, ok := Daemon(); ok {
		return code, true, nil
	}
	if n == 0 || IsRank() {
		return 0, false, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return 1, true, fmt.Errorf("cannot start this program again: %w", err)
	}
	cfg := Config{Program: exe, Args: os.Args[1:], Ranks: n}
	for _, o := range opts {
		o(&cfg)
	}
	code, err = Run(ctx, cfg)
	return code, true, err
}
