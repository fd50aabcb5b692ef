package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/env"
)

// signalNames are those that CRAFT_SIGNALS may have.
var signalNames = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP,
	"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "XCPU": syscall.SIGXCPU,
}

// parseSignals reads CRAFT_SIGNALS.
func parseSignals(text string) (map[syscall.Signal]demand.Takes, error) {
	takes := make(map[syscall.Signal]demand.Takes)
	given := make(map[syscall.Signal]string)
	wrong := func(why string) error {
		return fmt.Errorf("%w: %s", env.Invalid("CRAFT_SIGNALS", text), why)
	}
	for field := range strings.SplitSeq(text, ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		name, action, _ := strings.Cut(field, "=")
		number, known := signalNames[strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(name)), "SIG")]
		if !known {
			return nil, wrong(fmt.Sprintf("signal %q (allowed: %s)", name, strings.Join(slices.Sorted(maps.Keys(signalNames)), ", ")))
		}
		action = strings.TrimSpace(action)
		if before, twice := given[number]; twice && before != action {
			return nil, wrong(fmt.Sprintf("%s has two meanings: %s and %s", strings.TrimSpace(name), before, action))
		}
		given[number] = action
		switch action {
		case "end":
			takes[number] = demand.TakesEnd
		case "save":
			takes[number] = demand.TakesSave
		case "default": // what it does without this
			delete(takes, number)
		default:
			return nil, wrong(fmt.Sprintf("%q for %s (allowed: end, save, default)", action, name))
		}
	}
	return takes, nil
}

// OnSignal has signals ask the job for its end, or for a version, in place of ending the process: first
// in main, and before the ranks are started. Which ones is said by CRAFT_SIGNALS; what is ignored (nohup)
// stays ignored. At the next call of a checkpoint all ranks save, and get ErrDeadline; so much time as
// CRAFT_GRACE says is left for that. The same signal again is the same request, but a second
// SIGINT, a second or more after the first one, ends a program that no launcher has started at once. In
// a process that starts its own ranks (launch.Self) signals are for the launcher. It lasts until ctx ends. Errors in the variables are told by New.
func OnSignal(ctx context.Context) {
	var c endConfig
	role := env.CurrentRole()
	if cmp.Or(env.Load(&c), c.validate()) != nil || role == env.RoleDaemon || role == env.RoleGuard {
		return // these are about to begin with what their launcher wants, in launch.Self
	}
	takes, _ := parseSignals(c.Signals)
	s := &signals{grace: c.Grace, takes: takes, rank: role == env.RoleRank}
	s.host, _ = os.Hostname()
	caught := make(chan os.Signal, 16)
	for number, what := range takes {
		if !signal.Ignored(number) {
			signal.Notify(caught, number)
			demand.This.Take(int(number), what)
		}
	}
	// What reads the output (tee) may have ended by the same signal.
	signal.Notify(brokenPipes, syscall.SIGPIPE)
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case got := <-caught:
				s.take(time.Now(), got.(syscall.Signal))
			case <-stop:
				return
			}
		}
	})
	context.AfterFunc(ctx, func() {
		signal.Stop(caught)
		for number := range takes {
			demand.This.Take(int(number), demand.TakesNothing)
		}
		close(stop)
		watching.Wait()
	})
}

// brokenPipes gets SIGPIPE, and nobody looks: an error of the write says it.
var brokenPipes = make(chan os.Signal, 1)

// impatience is how long after a SIGINT the next one is another one.
const impatience = time.Second

// signals are those of this process.
type signals struct {
	takes       map[syscall.Signal]demand.Takes
	grace       time.Duration
	host        string
	rank        bool // of a launcher, which sees to impatient users
	interrupted time.Time
}

func (s *signals) take(now time.Time, got syscall.Signal) {
	if demand.This.Leads() {
		return // the launcher gets it too
	}
	source := fmt.Sprintf("%s at %s, process %d", nameOf(got), s.host, os.Getpid())
	if s.takes[got] == demand.TakesSave {
		demand.This.Ask(demand.Demand{Source: source, Left: demand.NoLimit})
		return
	}
	d := demand.Demand{Cause: demand.Deadline, Source: source, Left: s.grace}
	if got == syscall.SIGINT {
		d.Cause = demand.Interrupt
		if !s.interrupted.IsZero() && now.Sub(s.interrupted) >= impatience && !s.rank {
			signal.Reset(syscall.SIGINT)
			_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
			return
		}
		if s.interrupted.IsZero() {
			s.interrupted = now
		}
	}
	demand.This.Ask(d)
}

func nameOf(number syscall.Signal) string {
	for name, n := range signalNames {
		if n == number {
			return "SIG" + name
		}
	}
	return number.String()
}
