package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/demand"
)

// Run runs a job of n ranks as goroutines of this process, each with its own
// communicator, and returns when all of them have ended.
//
// When a body returns an error, the contexts of the others end with a *RankError
// as the cause, and Run returns it: the first one, if there are several. When a
// body panics, Run panics with a *PanicError after all have ended; when one calls
// runtime.Goexit (as testing.T's FailNow does), so does Run; in the main goroutine, whose end
// is not that of the program, Run panics instead.
func Run(ctx context.Context, n int, body func(ctx context.Context, c driver.Comm) error) error {
	return run(ctx, InprocConfig{Ranks: n}, true, func(ctx context.Context, r *InprocRank) error { return body(ctx, r.session.place.Comm) })
}

// InprocConfig is a job within this process.
type InprocConfig struct {
	Ranks int
	// Nodes are those that the ranks are on, in blocks; none: one node, which no communicator
	// tells of.
	Nodes []Node
	// Begun, if not nil, is given what asks the job for something, when it has begun.
	Begun func(ask func(demand.Demand))
	// OnLoss, if not nil, is called when a node was killed, after everything that runs there has
	// ended, and before the others are told of it, which they are, too, if it panics.
	OnLoss func(node int)
}

// RunInproc is Run for bodies that survive failures, and are told so by their session. Ranks
// that are started as replacements run the body too. An error of one body does not end the
// contexts of the others. A rank that has failed does not return, and the error of its body
// does not count.
func RunInproc(ctx context.Context, cfg InprocConfig, body func(ctx context.Context, r *InprocRank) error) error {
	return run(ctx, cfg, false, body)
}

// InprocRank is one rank of a job in this process.
type InprocRank struct {
	cluster     *inprocCluster
	session     *session
	replacement bool
}

// Session is the rank's part in its job.
func (r *InprocRank) Session() driver.Session { return r.session }

// Die ends this rank at once: it does not return. It is called by the body's goroutine.
func (r *InprocRank) Die() {
	r.cluster.exit(r.session.ep.self, killed)
	runtime.Goexit()
}

// Kill ends the process that stands for a rank of the job's first communicator now,
// and returns.
func (r *InprocRank) Kill(victim int) {
	if p, ok := r.cluster.present(control.Original(victim)); ok {
		r.cluster.exit(p, killed)
	}
}

// KillNode ends a node and all that runs there, and returns. It stays dead.
func (r *InprocRank) KillNode(node int) { r.cluster.killNode(control.Node(node)) }

// Replacement reports whether this rank was started in place of one that failed.
func (r *InprocRank) Replacement() bool { return r.replacement }

var killed = control.Exit{Code: -1, Signal: 9, Why: "signal: killed"}

func run(ctx context.Context, cfg InprocConfig, strict bool, body func(context.Context, *InprocRank) error) error {
	c, err := newInprocCluster(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.cancel(nil)
	j := &job{strict: strict, cluster: c, body: body}
	if !strict { // its processes fail, and others take over what they had
		j.name = rand.Text()
	}
	c.start = j.start
	done := make(chan struct{})
	var clock sync.WaitGroup
	clock.Go(func() { c.keepTime(done) })
	var leave func()
	c.begin(func() {
		leave = demand.This.Join(c.ask)
		if cfg.Begun != nil {
			cfg.Begun(c.ask)
		}
	})
	defer func() { leave() }()
	c.wait()
	j.ranks.Wait()
	close(done)
	clock.Wait()
	return j.result()
}

// job is what the ranks leave behind.
type job struct {
	strict  bool   // an error of one body ends the contexts of the others
	name    string // see comm.Session.JobName
	cluster *inprocCluster
	body    func(context.Context, *InprocRank) error
	ranks   sync.WaitGroup

	panicked atomic.Pointer[PanicError] // the first one
	exited   atomic.Bool
	mu       sync.Mutex
	first    *RankError
}

// start runs a rank, which is waited for unless it is abandoned.
func (j *job) start(ctx context.Context, p *inprocProc) {
	j.ranks.Add(1)
	p.over = sync.OnceFunc(j.ranks.Done)
	go func() {
		defer p.over()
		defer p.stop(nil)
		j.run(ctx, p)
	}()
}

// abandon ends the job because of a rank whose goroutine does not end, and does not wait for it.
func (j *job) abandon(p *inprocProc, at int, why error) {
	j.fail(at, why)
	j.cluster.cancel(why)
	j.cluster.post(func(time.Time) {
		j.cluster.rootActions(j.cluster.root.GiveUp(fmt.Sprintf("rank %d: %v", at, why)))
		p.over()
	})
}

func (j *job) result() error {
	if p := j.panicked.Load(); p != nil {
		panic(p)
	}
	if j.exited.Load() {
		if onMain() {
			panic(fmt.Errorf("%w, and main would end without the program: Go does not notice that in programs with cgo", errExit))
		}
		runtime.Goexit()
	}
	if j.first != nil {
		return j.first
	}
	// If it has not given up, ranks were killed and nobody has repaired that, as tests do.
	if end := j.cluster.ended; end.GaveUp && !j.strict {
		return fmt.Errorf("%w: %s", ErrControl, end.Report)
	}
	return nil
}

// run is one rank. Its end is told to the contexts first, so that the cause is
// its error and not one that follows from its absence.
func (j *job) run(ctx context.Context, p *inprocProc) {
	e := p.ep
	at := int(e.original)
	defer func() { j.cluster.leave(p, at) }()
	returned := false
	defer func() {
		if !returned {
			j.broken(at, e, recover())
		}
	}()
	// Each body runs, also when another one has already ended the job.
	s := &session{ep: e}
	s.abandon = func(why error) { j.abandon(p, at, why) }
	s.place.Node, s.place.Job = int(p.node.id), j.name
	err := s.begin(context.WithoutCancel(ctx))
	if err == nil {
		at = s.place.Comm.Rank()
		err = j.body(ctx, &InprocRank{cluster: j.cluster, session: s, replacement: s.place.Replacement})
	}
	returned = true
	if err != nil && !e.wasKilled() {
		j.fail(at, err)
	}
}

// broken is a body that has not returned: it panicked, called Goexit, or died.
func (j *job) broken(at int, e *endpoint, value any) {
	if value == nil { // panic(nil) is not nil since Go 1.21
		if e.wasKilled() {
			return
		}
		j.exited.Store(true)
		j.fail(at, errExit)
		j.cluster.cancel(errExit)
		return
	}
	p := &PanicError{Rank: at, Value: value, Stack: debug.Stack()}
	j.panicked.CompareAndSwap(nil, p)
	j.fail(at, p)
	j.cluster.cancel(p)
}

func (e *endpoint) wasKilled() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Is(e.closed, ErrKilled)
}

func (j *job) fail(at int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.first == nil {
		j.first = &RankError{Rank: at, Err: err}
		if j.strict {
			j.cluster.cancel(j.first)
		}
	}
}
