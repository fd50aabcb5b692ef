package checkpoint

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/craft-go/craft/internal/deadline"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/env"
)

// deadlines are those of this process, where no launcher looks after them: of the batch system, the
// user, the cloud. They are counted from when they are first read, and watched while a checkpoint is in use: by
// one watcher for all of them, whose knowledge outlives them, so that a program with a checkpoint for each of its
// stages asks the batch system as seldom as one with a single checkpoint.
type deadlines struct {
	ask func(demand.Demand)

	mu      sync.Mutex
	read    string // the environment that config is of
	config  deadline.Config
	watcher *deadline.Watcher // of config; nil: there was none yet
	users   int
	stop    func()
	running sync.WaitGroup
	log     *slog.Logger // of who watches
	before  string       // source of the plan that was told
}

var ofProcess = deadlines{ask: demand.This.Ask}

// ofDeadlines reports whether a variable may say something of a deadline.
func ofDeadlines(name string) bool {
	switch name {
	case env.Deadline, env.Notice, env.Prefix + "_GRACE":
		return true
	}
	return strings.HasPrefix(name, "SLURM_") || strings.HasPrefix(name, "PBS_")
}

// configure reads the environment.
func (d *deadlines) configure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var now strings.Builder
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); ofDeadlines(name) {
			now.WriteString(v + "\n")
		}
	}
	if now.String() == d.read {
		return nil
	}
	config, err := deadline.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	d.read, d.config, d.watcher = now.String(), config, nil // one that is in use goes on until it is not
	return nil
}

// passed is the deadline that has passed, as far as that can be known soon. Once they were watched the plan of the process tells.
func (d *deadlines) passed(ctx context.Context) deadline.Deadline {
	d.mu.Lock()
	config, watched := d.config, d.watcher != nil
	d.mu.Unlock()
	if watched {
		return deadline.Deadline{}
	}
	return config.Passed(ctx)
}

// use has the deadlines watched until release.
func (d *deadlines) use(log *slog.Logger) (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users++; d.users == 1 {
		d.watch(log)
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.users--; d.users == 0 {
			d.stop()
		}
	}
}

// watch begins to, or goes on.
func (d *deadlines) watch(log *slog.Logger) {
	if d.watcher == nil {
		d.found(deadline.Deadline{}) // what the one before has told
		d.watcher = deadline.NewWatcher(d.config, func(at deadline.Deadline) {
			tellDeadline(d.log, at)
			d.found(at)
		}, deadline.Job, deadline.Node)
	}
	ctx, cancel := context.WithCancel(context.Background())
	running := d.watcher
	d.stop = func() {
		cancel()
		d.running.Wait()
		running.LogTo(nil) // a log may be as large as what it is of
		d.log = nil
	}
	d.log = log
	if running.LogTo(log); !running.Idle() {
		d.running.Go(func() { running.Run(ctx) })
	}
}

// found is the earliest deadline now; it is called by the watcher, once at a time.
func (d *deadlines) found(at deadline.Deadline) {
	if d.before != "" && d.before != at.Source {
		d.ask(demand.Demand{Cause: demand.Deadline, Planned: true, Source: d.before, Left: demand.NoLimit})
	}
	if d.before = at.Source; at.None() {
		return
	}
	d.ask(demandOf(at))
}

// tellDeadline has people know of a deadline as soon as the program does.
func tellDeadline(log *slog.Logger, at deadline.Deadline) {
	switch left := at.Left.Round(time.Second).String(); {
	case at.None():
		log.Info("there is no deadline any more")
	case at.Notice:
		log.Warn("this machine is to go away: the program saves and ends before", "source", at.Source, "left", left)
	default:
		log.Info("there is a deadline: the program saves and ends before", "source", at.Source, "left", left)
	}
}

// demandOf is what a deadline asks for: the end in time or, where nobody says when it will be, at once.
func demandOf(at deadline.Deadline) demand.Demand {
	return demand.Demand{Cause: demand.Deadline, Planned: !at.Unsaid, Source: at.Source, Left: max(0, at.Left)}
}

// errEnvironment is the error of New about the variables of deadlines.
func errEnvironment(c *core) error {
	if launched(c) || !c.opt.Enable {
		return nil
	}
	return ofProcess.configure()
}

// launched reports whether this process is a rank of a launcher, which watches the deadlines of the job.
func launched(c *core) bool {
	return env.CurrentRole() == env.RoleRank || c.comm.Session().Daemon() != ""
}
