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

	gone *bool // of a part of a place that can be lost: whether it was
}

func (op Op) String() string {
	return fmt.Sprintf("%v %d: %v of %v", op.Kind, op.Number, op.Part, op.ID)
}

// around surrounds an operation: it calls do, or says why it is not done.
type around func(ctx context.Context, op Op, do func() error) error

// intercepted is a driver with something around every operation. What its driver
// cannot do, of the optional abilities, it does by doing nothing.
type intercepted struct {
	storage.Driver
	around around // nil: nothing
	gone   *bool  // for the parts that are given out; nil: their place cannot be lost
	// damage changes a part that is read; may be nil.
	damage func(storage.ID, storage.Part, storage.PartReader) storage.PartReader

	mu     sync.Mutex
	counts [len(opNames)]int
}

var (
	_ storage.Preparer      = (*intercepted)(nil)
	_ storage.MetadataStore = (*intercepted)(nil)
)

// Failing wraps a driver so that fail is asked before every operation: what it
// returns is the operation's error, and nothing is done then, but that a part
// whose Commit or Abort fails is thrown away, and a reader closed. fail may be
// called concurrently.
func Failing(d storage.Driver, fail func(Op) error) storage.Driver {
	return &intercepted{Driver: d, around: func(_ context.Context, op Op, do func() error) error {
		if err := fail(op); err != nil {
			return err
		}
		return do()
	}}
}

func (d *intercepted) run(ctx context.Context, op Op, do func() error) error {
	if d.around == nil {
		return do()
	}
	d.mu.Lock()
	op.Number = d.counts[op.Kind]
	d.counts[op.Kind]++
	d.mu.Unlock()
	return d.around(ctx, op, do)
}

func (d *intercepted) List(ctx context.Context) (entries []storage.Entry, err error) {
	err = d.run(ctx, Op{Kind: OpList}, func() (err error) {
		entries, err = d.Driver.List(ctx)
		return err
	})
	return entries, err
}

func (d *intercepted) Remove(ctx context.Context, id storage.ID) error {
	return d.run(ctx, Op{Kind: OpRemove, ID: id}, func() error { return d.Driver.Remove(ctx, id) })
}

func (d *intercepted) Prepare(ctx context.Context, keep func(storage.Entry) bool) error {
	return d.run(ctx, Op{Kind: OpPrepare}, func() error {
		if p, ok := d.Driver.(storage.Preparer); ok {
			return p.Prepare(ctx, keep)
		}
		return nil
	})
}

// ReadMetadata implements storage.MetadataStore; a driver that keeps no notes has none.
func (d *intercepted) ReadMetadata(ctx context.Context, name string) ([]byte, error) {
	if n, ok := d.Driver.(storage.MetadataStore); ok {
		return n.ReadMetadata(ctx, name)
	}
	return nil, nil
}

// WriteMetadata implements storage.MetadataStore.
func (d *intercepted) WriteMetadata(ctx context.Context, name string, data []byte) error {
	if n, ok := d.Driver.(storage.MetadataStore); ok {
		return n.WriteMetadata(ctx, name, data)
	}
	return nil
}

func (d *intercepted) Create(ctx context.Context, id storage.ID, part storage.Part) (out storage.PartWriter, err error) {
	err = d.run(ctx, Op{Kind: OpCreate, ID: id, Part: part}, func() error {
		w, err := d.Driver.Create(ctx, id, part)
		if err == nil {
			out = withReadBack(&interceptedWriter{PartWriter: w, run: d.ofPart(ctx, id, part)}, w)
		}
		return err
	})
	return out, err
}

func (d *intercepted) Open(ctx context.Context, id storage.ID, part storage.Part) (out storage.PartReader, err error) {
	err = d.run(ctx, Op{Kind: OpOpen, ID: id, Part: part}, func() error {
		r, err := d.Driver.Open(ctx, id, part)
		if err == nil && d.damage != nil {
			r = d.damage(id, part, r)
		}
		if err == nil {
			out = &interceptedReader{PartReader: r, run: d.ofPart(ctx, id, part)}
		}
		return err
	})
	return out, err
}

// partRun is run for the operations of a part.
type partRun func(op Op, do func() error) error

func (d *intercepted) ofPart(ctx context.Context, id storage.ID, part storage.Part) partRun {
	gone := d.gone
	return func(op Op, do func() error) error {
		op.ID, op.Part, op.gone = id, part, gone
		return d.run(ctx, op, do)
	}
}

// end is run for what ends a part: if it is not done, otherwise is.
func (run partRun) end(kind OpKind, do, otherwise func() error) error {
	done := false
	err := run(Op{Kind: kind}, func() error {
		done = true
		return do()
	})
	if !done {
		_ = otherwise() // the error of the operation is known
	}
	return err
}

type interceptedWriter struct {
	storage.PartWriter

	run     partRun
	written int64
}

func (w *interceptedWriter) Write(p []byte) (n int, err error) {
	err = w.run(Op{Kind: OpWrite, Offset: w.written, Size: len(p)}, func() (err error) {
		n, err = w.PartWriter.Write(p)
		return err
	})
	w.written += int64(n)
	return n, err
}

// Commit throws the part away when it fails.
func (w *interceptedWriter) Commit() error {
	return w.run.end(OpCommit, w.PartWriter.Commit, w.PartWriter.Abort)
}

// Abort throws the part away in any case.
func (w *interceptedWriter) Abort() error {
	return w.run.end(OpAbort, w.PartWriter.Abort, w.PartWriter.Abort)
}

type interceptedReader struct {
	storage.PartReader

	run partRun
}

func (r *interceptedReader) ReadAt(p []byte, off int64) (n int, err error) {
	err = r.run(Op{Kind: OpRead, Offset: off, Size: len(p)}, func() (err error) {
		n, err = r.PartReader.ReadAt(p, off)
		return err
	})
	return n, err
}

// Close closes the part in any case.
func (r *interceptedReader) Close() error {
	return r.run.end(OpClose, r.PartReader.Close, r.PartReader.Close)
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
