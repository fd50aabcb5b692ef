package checkpoint

import (
	"sync"
	"time"

	"github.com/craft-go/craft/storage"
)

// Version is one that is safe at the level that it was written for.
type Version struct {
	Number    uint64
	Iteration int64 // or NoIteration
	Created   time.Time
	// Level is what it has reached on the nodes; none: it is on the parallel file system.
	Level storage.Levels
	Path  string // of its directory, where it is on the parallel file system
}

// WithAfterVersion has f called on rank 0 for each version that is safe, in their order, off the program's
// path: to copy it away, or to tell somebody. Close waits for it, at most for CRAFT_DRAIN_TIMEOUT.
func WithAfterVersion(f func(Version)) Option { return func(o *options) { o.afterVersion = f } }

// listener calls a function of the program for each version, in a goroutine of its own.
type listener struct {
	f func(Version)

	mu      sync.Mutex
	queue   []Version
	running chan struct{} // closed when the queue is empty; nil: nobody is at it
}

func (l *listener) tell(v Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, v)
	if l.running == nil {
		l.running = make(chan struct{})
		go l.work(l.running)
	}
}

func (l *listener) work(over chan struct{}) {
	defer close(over)
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.running = nil
			l.mu.Unlock()
			return
		}
		next := l.queue[0]
		l.queue = l.queue[1:]
		l.mu.Unlock()
		l.f(next)
	}
}

// wait returns when all was told, or after a limit.
func (l *listener) wait(limit time.Duration) (all bool) {
	l.mu.Lock()
	running := l.running
	l.mu.Unlock()
	if running == nil {
		return true
	}
	select {
	case <-running:
		return true
	case <-time.After(limit):
		return false
	}
}

// tellListener tells the program of a version that is complete.
func tellListener(wr *writing, f *flight, reached storage.Levels) {
	if wr.opt.afterVersion == nil || !wr.root() {
		return
	}
	v := Version{Number: f.header.Version, Iteration: f.header.Iteration, Created: f.header.Created, Path: wr.home.Path(f.id())}
	if wr.placement.OnNodes() {
		v.Level = reached
	}
	wr.listener.tell(v)
}
