package launch

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"sync"

	"github.com/craft-go/craft/aft/internal/control"
)

// printer writes the output of ranks to one stream. Those who add to it do not
// wait: the credits of the daemons bound what is queued.
type printer struct {
	w    io.Writer
	name string // of the stream, for people
	tags bool
	lost func(error) // called when output could not be written, each time

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []printed
	busy   bool // a batch of it is being written
	closed bool
	err    error // the first one of w

	// open is who has written an unfinished line last.
	open   writer
	isOpen bool

	done sync.WaitGroup
}

// writer is a process, whose number each deployment gives anew.
type writer struct {
	deployment int
	proc       control.Proc
}

// printed is a piece of output; taken is called when it has been written.
type printed struct {
	by       writer
	original control.Original
	data     []byte
	taken    func(int)
}

func newPrinter(w io.Writer, name string, tags bool, lost func(error)) *printer {
	p := &printer{w: w, name: name, tags: tags, lost: lost}
	p.wake = sync.NewCond(&p.mu)
	p.done.Go(p.run)
	return p
}

func (p *printer) add(piece printed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, piece)
	p.wake.Broadcast()
}

func (p *printer) run() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.queue) == 0 && !p.closed {
			p.wake.Wait()
		}
		if len(p.queue) == 0 {
			return
		}
		batch := p.queue
		p.queue, p.busy = nil, true
		p.mu.Unlock()
		err := p.write(batch)
		if err != nil {
			err = fmt.Errorf("%s: %w", p.name, err)
			p.lost(err)
		}
		p.mu.Lock()
		p.err, p.busy = cmp.Or(p.err, err), false
		p.wake.Broadcast()
	}
}

// written is closed when all that was added is written.
func (p *printer) written() <-chan struct{} {
	done := make(chan struct{})
	go func() { // ends with the printer
		p.mu.Lock()
		defer p.mu.Unlock()
		for p.busy || len(p.queue) > 0 {
			p.wake.Wait()
		}
		close(done)
	}()
	return done
}

// write writes pieces in their order. An error does not hold up the ranks: what
// cannot be written is dropped.
func (p *printer) write(batch []printed) (first error) {
	for _, piece := range batch {
		_, err := p.w.Write(p.format(piece))
		first = cmp.Or(first, err)
		piece.taken(len(piece.data))
	}
	return first
}

// format breaks a line of another rank that is unfinished, and adds tags.
func (p *printer) format(piece printed) []byte {
	interrupted := p.isOpen && p.open != piece.by
	continued := p.isOpen && !interrupted
	p.open, p.isOpen = piece.by, !bytes.HasSuffix(piece.data, []byte("\n"))
	if !p.tags && !interrupted {
		return piece.data
	}
	var out bytes.Buffer
	if interrupted {
		out.WriteByte('\n')
	}
	for line := range bytes.Lines(piece.data) {
		if p.tags && !continued {
			fmt.Fprintf(&out, "[%d] ", piece.original)
		}
		continued = false
		out.Write(line)
	}
	return out.Bytes()
}

// close waits until everything is written and returns the first error.
func (p *printer) close() error {
	p.mu.Lock()
	p.closed = true
	p.wake.Broadcast()
	p.mu.Unlock()
	p.done.Wait()
	return p.err
}
