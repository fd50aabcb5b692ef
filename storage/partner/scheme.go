package partner

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/exchange"
)

// Config says who protects whom.
type Config struct {
	Service *exchange.Service
	// Partner is, for each rank, the rank that holds its copies: see
	// domain.Partners.
	Partner []int
	Rank    int // this one
	// ObjectName gives the name by which the partner is asked to store an object.
	ObjectName func(storage.ObjectKey) string
}

// Scheme makes the copies of one rank's parts. Its methods may be called
// concurrently, also for several versions at once.
type Scheme struct{ config Config }

// New returns the scheme of this rank.
func New(c Config) *Scheme { return &Scheme{c} }

// Create starts the copy of a part, which this rank writes now. Errors are of
// type *Error. ctx is for the whole life of the writer; the partner throws the
// copy away when it ends.
func (s *Scheme) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	c := &s.config
	p := c.Partner[c.Rank]
	w := &writer{about: Error{ID: id, Part: part, Partner: p}}
	name := c.ObjectName(storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: part})
	var err error
	if w.stream, err = c.Service.Create(ctx, comm.Rank(p), name); err != nil {
		return nil, w.fail("start", err)
	}
	return w, nil
}

// Skip does nothing: nobody waits for a copy.
func (s *Scheme) Skip(context.Context, storage.ID, storage.Part) error { return nil }

// writer is a copy on its way.
type writer struct {
	stream storage.PartWriter
	about  Error // without operation and cause
}

var _ storage.Borrower = (*writer)(nil)

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.stream.Write(p)
	return n, w.fail("write", err)
}

func (w *writer) Borrow(p []byte) error { return w.fail("write", storage.Borrow(w.stream, p)) }

func (w *writer) GiveBack() error { return w.fail("write", storage.GiveBack(w.stream)) }

func (w *writer) Commit() error { return w.fail("commit", w.stream.Commit()) }

func (w *writer) Abort() error { return w.fail("abort", w.stream.Abort()) }

func (w *writer) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	e := w.about
	e.Op, e.Err = op, err
	return &e
}
