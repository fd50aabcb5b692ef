package checkpoint

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/craft-go/craft/internal/deadline"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/env"
)

// deadlines are those of this process, where no launcher looks after them: of the batch system, the
// user, the cloud. They are counted from when they are first read, and watched while a checkpoint is in use.
type deadlines struct {
	mu      sync.Mutex
	read    string // the environment that config is of
	config  deadline.Config
	users   int
	cancel  context.CancelFunc
	running sync.WaitGroup
	before  string // source of the plan that was told
}

var ofProcess deadlines

// configure reads the environment.
func (d *deadlines) configure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var now strings.Builder
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "CRAFT_") || strings.HasPrefix(name, "SLURM_") || strings.HasPrefix(name, "PBS_") {
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
	d.read, d.config = now.String(), config
	return nil
}

// fixed is the deadline that is known without asking anybody.
func (d *deadlines) fixed() deadline.Deadline {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.config.Fixed()
}

// use has the deadlines watched until release.
func (d *deadlines) use(log *slog.Logger) (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users++; d.users == 1 {
		config := d.config
		config.Log = log
		watcher := deadline.NewWatcher(config, d.found, deadline.Job, deadline.Node)
		ctx, cancel := context.WithCancel(context.Background())
		d.cancel = cancel
		if !watcher.Idle() {
			d.running.Go(func() { watcher.Run(ctx) })
		}
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.users--; d.users == 0 {
			d.cancel()
			d.running.Wait()
		}
	}
}

// found is the earliest deadline now; it is called by the watcher, once at a time.
func (d *deadlines) found(at deadline.Deadline) {
	if d.before != "" && d.before != at.Source {
		demand.This.Ask(demand.Demand{Cause: demand.Deadline, Planned: true, Source: d.before, Left: demand.NoLimit})
	}
	if d.before = at.Source; at.None() {
		return
	}
	demand.This.Ask(demandOf(at))
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
