package storagetest

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/craft-go/craft/storage"
)

// OpKind says what an operation of a driver does.
type OpKind int

// The operations: those of storage.Driver and storage.Preparer, and those of the
// parts that a driver has given out.
const (
	OpList OpKind = iota
	OpPrepare
	OpRemove
	OpCreate
	OpWrite
	OpCommit
	OpAbort
	OpOpen
	OpRead
	OpClose
)

var opNames = [...]string{"list", "prepare", "remove", "create", "write", "commit", "abort", "open", "read", "close"}

func (k OpKind) String() string {
	if k < 0 || int(k) >= len(opNames) {
		return fmt.Sprintf("OpKind(%d)", int(k))
	}
	return opNames[k]
}

// Op is one operation of a driver or of one of its parts.
type Op struct {
	Kind OpKind
	ID   storage.ID   // zero for OpList and OpPrepare
	Part storage.Part // zero for these and OpRemove
	// Number counts the operations of this kind of the driver, from 0.
	Number int
	// Offset and Size are the range in bytes of OpWrite and OpRead.
	Offset int64
	Size   int
}

func (op Op) String() string {
	return fmt.Sprintf("%v %d: %v of %v", op.Kind, op.Number, op.Part, op.ID)
}

// intercepted is a driver that asks before every operation. What its driver
// cannot do, of the optional abilities, it does by doing nothing.
type intercepted struct {
	storage.Driver
	before func(context.Context, Op) error

	mu     sync.Mutex
	counts [len(opNames)]int
}

var (
	_ storage.Preparer      = (*intercepted)(nil)
	_ storage.MetadataStore = (*intercepted)(nil)
)

func (d *intercepted) ask(ctx context.Context, op Op) error {
	d.mu.Lock()
	op.Number = d.counts[op.Kind]
	d.counts[op.Kind]++
	d.mu.Unlock()
	return d.before(ctx, op)
}

func (d *intercepted) List(ctx context.Context) ([]storage.Entry, error) {
	if err := d.ask(ctx, Op{Kind: OpList}); err != nil {
		return nil, err
	}
	return d.Driver.List(ctx)
}

func (d *intercepted) Remove(ctx context.Context, id storage.ID) error {
	if err := d.ask(ctx, Op{Kind: OpRemove, ID: id}); err != nil {
		return err
	}
	return d.Driver.Remove(ctx, id)
}

func (d *intercepted) Prepare(ctx context.Context, keep func(storage.Entry) bool) error {
	if err := d.ask(ctx, Op{Kind: OpPrepare}); err != nil {
		return err
	}
	if p, ok := d.Driver.(storage.Preparer); ok {
		return p.Prepare(ctx, keep)
	}
	return nil
}

func (d *intercepted) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	if err := d.ask(ctx, Op{Kind: OpCreate, ID: id, Part: part}); err != nil {
		return nil, err
	}
	w, err := d.Driver.Create(ctx, id, part)
	if err != nil {
		return nil, err
	}
	out := &interceptedWriter{PartWriter: w, ask: func(op Op) error {
		op.ID, op.Part = id, part
		return d.ask(ctx, op)
	}}
	return withReadBack(out, w), nil
}

func (d *intercepted) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	if err := d.ask(ctx, Op{Kind: OpOpen, ID: id, Part: part}); err != nil {
		return nil, err
	}
	r, err := d.Driver.Open(ctx, id, part)
	if err != nil {
		return nil, err
	}
	return &interceptedReader{PartReader: r, ask: func(op Op) error {
		op.ID, op.Part = id, part
		return d.ask(ctx, op)
	}}, nil
}

type interceptedWriter struct {
	storage.PartWriter

	ask     func(Op) error
	written int64
}

func (w *interceptedWriter) Write(p []byte) (int, error) {
	if err := w.ask(Op{Kind: OpWrite, Offset: w.written, Size: len(p)}); err != nil {
		return 0, err
	}
	n, err := w.PartWriter.Write(p)
	w.written += int64(n)
	return n, err
}

func (w *interceptedWriter) Commit() error {
	if err := w.ask(Op{Kind: OpCommit}); err != nil {
		_ = w.PartWriter.Abort() // "when it fails the part is gone"
		return err
	}
	return w.PartWriter.Commit()
}

// Abort throws the part away in any case.
func (w *interceptedWriter) Abort() error {
	err := w.ask(Op{Kind: OpAbort})
	if abortErr := w.PartWriter.Abort(); err == nil {
		err = abortErr
	}
	return err
}

type interceptedReader struct {
	storage.PartReader

	ask func(Op) error
}

func (r *interceptedReader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.ask(Op{Kind: OpRead, Offset: off, Size: len(p)}); err != nil {
		return 0, err
	}
	return r.PartReader.ReadAt(p, off)
}

// Close closes the part in any case.
func (r *interceptedReader) Close() error {
	err := r.ask(Op{Kind: OpClose})
	if closeErr := r.PartReader.Close(); err == nil {
		err = closeErr
	}
	return err
}

// withReadBack gives a wrapper the ability of the writer that it wraps.
func withReadBack(wrapper, w storage.PartWriter) storage.PartWriter {
	if back, ok := w.(storage.ReadBack); ok {
		return readBack{wrapper, back}
	}
	return wrapper
}

type readBack struct {
	storage.PartWriter

	of storage.ReadBack
}

func (b readBack) Written() (io.ReaderAt, int64) { return b.of.Written() }
