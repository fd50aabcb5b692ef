package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/craft-go/craft/checkpoint"
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

// What a terminal understands: it erases its last line, and cuts one off that is too long.
const (
	eraseLine = "\r\x1b[K"
	cutOff    = "\x1b[?7l"
	wrap      = "\x1b[?7h"
)

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
		fmt.Fprint(s.w, cutOff+status+wrap)
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

func (w *worker) newProgress(first int) *progress {
	if !w.rank.First() || !w.screen.terminal {
		return &progress{}
	}
	now := time.Now()
	return &progress{screen: w.screen, first: first, total: w.Iterations, began: now, next: now.Add(progressInterval)}
}

// show is called when an iteration has ended.
func (p *progress) show(iter int, l *krylov.Lanczos, cp *checkpoint.Checkpoint) {
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
	status := fmt.Sprintf("iteration %d of %d   %v left   minimum %.9f   %.0f iterations/s",
		iter+1, p.total, left.Round(time.Second), tridiag.Lowest(l.Alpha, l.Beta), rate)
	if w := cp.Progress(); w.Writing {
		status += fmt.Sprintf("   writing a checkpoint: %.1f of %.1f MB", float64(w.Bytes)/1e6, float64(w.Expected)/1e6)
	}
	p.screen.show(status)
}
