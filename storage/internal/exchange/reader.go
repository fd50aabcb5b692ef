package exchange

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// reader reads a part of another rank. It asks for ranges of at most a block,
// some at once; the answers come in the order of the questions.
//
//	here                                    there
//	ReadAt: ask for a block      ------>    read it
//	        and for the next     ------>    read it
//	listen: check, wake ReadAt   <------    send it
type reader struct {
	*call
	places  chan struct{}       // one for each range under way
	asked   chan *fetch         // in the order of their questions; closed with ended
	caches  map[int64]*fetch    // whole blocks, by number
	order   []*fetch            // of caches, oldest first
	ends    [rememberEnds]int64 // where the latest reads have ended
	lastEnd int
}

// rememberEnds is how many interleaved sequential reads are recognised: those of
// some goroutines that each read a stretch of the part.
const rememberEnds = 16

// fetch is a range that has been asked for. The call's lock guards all but what
// is written before done is closed.
type fetch struct {
	off     int64
	n       int
	seq     uint32
	buf     []byte
	in, out comm.Request

	done chan struct{} // closed with err; then buf[:n] are the bytes
	err  error

	users  int  // ReadAt calls that need it
	used   int  // bytes that they have taken
	cached bool // in caches
}

var _ storage.PartReader = (*reader)(nil)

func openAt(ctx context.Context, p *peer, name string) (storage.PartReader, error) {
	window := p.s.opts.Window
	r := &reader{
		call:   newCall(ctx, p, name),
		places: make(chan struct{}, window), asked: make(chan *fetch, window),
		caches: make(map[int64]*fetch),
	}
	for i := range r.ends {
		r.ends[i] = -1
	}
	return r, r.dial(askOpen, r)
}

func (r *reader) Size() int64 { return r.accept.size }

// listen takes the ranges, and after the end the last word.
func (r *reader) listen() error {
	var broken error
	for f := range r.asked {
		err := r.complete(f, broken)
		if broken == nil && err != nil {
			broken = err
			r.cancel(err)
			r.quit() // closes asked
		}
	}
	if broken != nil {
		return broken
	}
	return r.last(r.next())
}

// complete takes the answer to one question. What it returns ends the stream; what
// has ended it before is broken.
func (r *reader) complete(f *fetch, broken error) error {
	answer, err := r.await(f, broken)
	r.received++
	switch {
	case err != nil:
		f.err = err
	case answer.kind == frameFail && len(answer.payload) > 0:
		f.err = parseError(answer.payload) // of this range alone
	case answer.kind != frameBlock || len(answer.payload) != f.n:
		err = fmt.Errorf("%w: answer of kind %d with %d bytes, expected were %d", ErrTransfer, answer.kind, len(answer.payload), f.n)
		f.err = err
	}
	<-r.places
	r.mu.Lock()
	defer r.mu.Unlock()
	close(f.done)
	if f.err != nil {
		r.forget(f)
	}
	r.recycle(f)
	return err
}

// await waits for the answer; if the stream is broken, only until no buffer is in
// use.
func (r *reader) await(f *fetch, broken error) (frame, error) {
	wait := r.p.ctx
	if broken != nil {
		wait = ended
	}
	_, err := f.out.Wait(wait)
	st, inErr := f.in.Wait(wait)
	switch {
	case broken != nil:
		return frame{}, broken
	case err != nil:
		return frame{}, r.p.lost(err)
	case inErr != nil:
		return frame{}, r.p.lost(inErr)
	}
	return parseFrame(f.buf[:st.Bytes], r.id, f.seq+1) // the first answer was the agreement
}

// discard asks for nothing more and hangs up.
func (r *reader) discard() {
	if !r.ended {
		close(r.asked)
	}
	for len(r.order) > 0 {
		r.forget(r.order[0])
	}
	r.hangUp()
}

// Close gives everything back. The other rank closes its part later.
func (r *reader) Close() error {
	r.cancel(fs.ErrClosed)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.discard()
	return nil
}

func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	switch {
	case off < 0:
		return 0, r.fail("read", fs.ErrInvalid)
	case r.ctx.Err() != nil:
		return 0, r.fail("read", context.Cause(r.ctx))
	case len(p) == 0:
		return 0, nil
	case off >= r.accept.size:
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), r.accept.size-off))
	done, err := r.readRange(p[:n], off)
	if err == nil && n < len(p) {
		return n, io.EOF
	}
	return done, r.fail("read", err)
}

// readRange reads what is inside the part.
func (r *reader) readRange(p []byte, off int64) (int, error) {
	pos, end := off, off+int64(len(p))
	sequential := r.follows(off, end)
	var pieces []piece
	defer func() { r.release(pieces) }()
	done := 0
	for done < len(p) {
		for pos < end && len(pieces) < r.p.s.opts.Window {
			s, err := r.piece(pos, end, sequential, len(pieces) == 0)
			if err != nil {
				return done, err
			}
			if s.fetch == nil {
				break // all places are taken, by others too
			}
			pieces = append(pieces, s)
			pos += int64(s.n)
		}
		if pos == end && sequential {
			r.readAhead(end)
		}
		s := pieces[0]
		select {
		case <-s.fetch.done:
		case <-r.ctx.Done():
			return done, context.Cause(r.ctx)
		}
		if s.fetch.err != nil {
			return done, s.fetch.err
		}
		copy(p[done:done+s.n], s.fetch.buf[s.at:])
		done += s.n
		r.release(pieces[:1])
		pieces = pieces[1:]
	}
	if sequential {
		r.readAhead(end) // what has arrived has made places free
	}
	return done, nil
}
