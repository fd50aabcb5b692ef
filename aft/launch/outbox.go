package launch

import (
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/nonblock"
)

// outbox sends messages over a connection. put never blocks: what the connection
// does not take at once waits here, and a goroutine sends it. Output waits in a
// queue of its own, which all other messages overtake; credits bound it. The
// others are bounded by the lease: who does not read them is fenced.
type outbox struct {
	file *os.File
	raw  syscall.RawConn // nil: the connection cannot be tried without blocking

	mu      sync.Mutex
	wake    *sync.Cond
	rest    []byte // of a message that is partly written
	control [][]byte
	output  []queuedOutput
	busy    bool // the goroutine is writing
	closed  bool
	err     error

	done sync.WaitGroup
}

// atOnce is from when on a body in common is written by itself, rather than copied to be written with what comes
// before it.
const atOnce = 4 << 10

type queuedOutput struct {
	proc  control.Proc
	frame []byte
}

// newOutbox takes over file: close closes it.
func newOutbox(file *os.File) *outbox {
	o := &outbox{file: file}
	o.wake = sync.NewCond(&o.mu)
	if file.SetWriteDeadline(time.Time{}) == nil { // it is polled, so that trying does not block
		o.raw, _ = file.SyscallConn()
	}
	o.done.Go(o.run)
	return o
}

// put sends a message, after those put before it. An Exit takes the output of its
// processes with it. Errors of the connection are seen by those who read from it.
func (o *outbox) put(m control.Message) error { return o.putOf(nil, m) }

// putOf is put for a message that has a body in common with others.
func (o *outbox) putOf(body *control.Body, m control.Message) error {
	frame, rest, err := body.Frame(m)
	if err != nil {
		return err
	}
	if len(rest) < atOnce {
		frame, rest = append(frame, rest...), nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.err != nil {
		return nil
	}
	switch m.Kind {
	case control.KindOutput:
		o.output = append(o.output, queuedOutput{m.Output.Proc, frame})
	case control.KindExit:
		o.promote(m.Exits)
		o.control = append(o.control, frame)
	default:
		o.control = append(o.control, frame)
		if len(rest) > 0 {
			o.control = append(o.control, rest)
		}
	}
	o.try()
	return nil
}

// promote lets the output of processes overtake all other output.
func (o *outbox) promote(exits []control.Exit) {
	last := func(q queuedOutput) bool {
		return slices.ContainsFunc(exits, func(e control.Exit) bool { return e.Proc == q.proc })
	}
	for _, q := range o.output {
		if last(q) {
			o.control = append(o.control, q.frame)
		}
	}
	o.output = slices.DeleteFunc(o.output, last)
}

// try writes what the connection takes now, and leaves the rest to the goroutine.
func (o *outbox) try() {
	if o.busy {
		return
	}
	for o.raw != nil && o.next() {
		n, err := now(o.raw.Write, nonblock.Write, o.rest)
		o.rest = o.rest[n:]
		if errors.Is(err, syscall.EAGAIN) {
			break
		}
		if err != nil {
			o.err = err
			break
		}
	}
	if o.next() || o.err != nil {
		o.wake.Broadcast()
	}
}

// next makes rest what is to be written next; false: nothing is.
func (o *outbox) next() bool {
	switch {
	case len(o.rest) > 0:
	case len(o.control) > 0:
		o.rest, o.control = o.control[0], o.control[1:]
	case len(o.output) > 0:
		o.rest, o.output = o.output[0].frame, o.output[1:]
	default:
		return false
	}
	return true
}

// run writes what put could not.
func (o *outbox) run() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for !o.closed && o.err == nil && !o.next() {
			o.wake.Wait()
		}
		if o.err != nil || !o.next() {
			return
		}
		data := o.rest
		o.busy = true
		o.mu.Unlock()
		_, err := o.file.Write(data)
		o.mu.Lock()
		o.busy, o.rest = false, nil
		if err != nil {
			o.err = err
		}
	}
}

// close sends what is still queued, at most until limit, and closes the
// connection.
func (o *outbox) close(limit time.Time) {
	if err := o.file.SetWriteDeadline(limit); err != nil && limit.Before(time.Now()) {
		_ = o.file.Close() // no deadlines here: nothing else ends a write
	}
	o.mu.Lock()
	o.closed = true
	o.wake.Broadcast()
	o.mu.Unlock()
	o.done.Wait()
	_ = o.file.Close() // the other end sees all that was written
}
