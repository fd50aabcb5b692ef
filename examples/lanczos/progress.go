package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/lanczos/krylov"
	"github.com/craft-go/craft/examples/lanczos/tridiag"
	"golang.org/x/term"
)

// screen is standard error. On a terminal its last line may be a status, which
// other output replaces.
type screen struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	status   bool
}

const eraseLine = "\r\x1b[K"

func newScreen(f *os.File) *screen {
	return &screen{w: f, terminal: term.IsTerminal(int(f.Fd()))}
}

// Write writes ordinary output.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	return s.w.Write(p)
}

func (s *screen) erase() {
	if s.status {
		s.status = false
		fmt.Fprint(s.w, eraseLine)
	}
}

// show replaces the status; an empty one takes it away.
func (s *screen) show(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if status != "" {
		s.status = true
		fmt.Fprint(s.w, status)
	}
}

// progress keeps the status line, on rank 0 and on terminals only.
type progress struct {
	screen *screen // nil: quiet
	first  int
	total  int
	began  time.Time
	next   time.Time
}

const progressInterval = 200 * time.Millisecond

// newProgress also says from where the job goes on.
func (j *job) newProgress(rank comm.Rank, h history) *progress {
	if rank != 0 {
		return &progress{}
	}
	if h.restartedFrom >= 0 {
		fmt.Fprintf(j.screen, "restarted from the checkpoint in %s: the next iteration is %d\n", j.cpPath, h.first)
	}
	if !j.screen.terminal {
		return &progress{}
	}
	return &progress{screen: j.screen, first: h.first, total: j.iterations, began: h.began, next: h.began.Add(progressInterval)}
}

// show is called when an iteration has ended.
func (p *progress) show(iter int, l *krylov.Lanczos) {
	if p.screen == nil {
		return
	}
	if iter == p.total-1 {
		p.screen.show("")
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(progressInterval)
	elapsed := now.Sub(p.began)
	rate := float64(iter+1-p.first) / elapsed.Seconds()
	left := time.Duration(float64(p.total-1-iter) / rate * float64(time.Second))
	p.screen.show(fmt.Sprintf("iteration %d of %d   minimum %.9f   %.0f iterations/s   %v left",
		iter+1, p.total, tridiag.Lowest(l.Alpha, l.Beta), rate, left.Round(time.Second)))
}
