package memory

import (
	"errors"
	"fmt"

	"github.com/craft-go/craft/internal/offheap"
	"github.com/craft-go/craft/storage/internal/exchange"
)

// receiver is a copy of a part of another rank. Its bytes come as what is borrowed there, or are read
// in that rank's memory; what is written are the records that say so.
type receiver struct {
	*writer

	records []byte // that are not whole
	recipe  recipe
	read    []*window // the last one is what is read now
}

var _ exchange.Expecter = (*receiver)(nil)

// Expect implements exchange.Expecter: what comes is put where it stays.
func (r *receiver) Expect(n int) (take func([]byte), got func(), err error) {
	rooms, err := r.room(n)
	if err != nil {
		return nil, nil, err
	}
	return r.into(rooms), nil, nil
}

// Write takes records.
func (r *receiver) Write(p []byte) (int, error) {
	r.records = append(r.records, p...)
	for len(r.records) >= recordSize {
		one, err := parseRecord(r.records)
		if err == nil {
			err = r.take(one)
		}
		if err != nil {
			return 0, err
		}
		r.records = r.records[recordSize:]
	}
	return len(p), nil
}

func (r *receiver) take(one record) error {
	switch one[0] {
	case recordBase:
		r.recipe.base = one.base()
	case recordRun:
		r.recipe.runs = append(r.recipe.runs, run{one[1], one[2]})
	case recordMemory:
		return r.open(one.memory())
	case recordRead:
		return r.copy(one[1], int(one[2]), uint64(one[3]))
	}
	return nil
}

// open finds the memory of another process.
func (r *receiver) open(a offheap.Address) error {
	w, err := r.objects.store.windows.acquire(a)
	if err == nil {
		r.read = append(r.read, w)
	}
	return err
}

// copy takes the next bytes. Whether they were still those of the part is known when they are here: their owner may
// have ended, or use its memory for something else.
func (r *receiver) copy(at int64, n int, told uint64) error {
	var memory []byte
	if k := len(r.read); k > 0 {
		memory = r.read[k-1].Mapped()
	}
	if at+int64(n) > int64(len(usesIn(memory))*extentSize) {
		return fmt.Errorf("%w: %d bytes at %d are in no memory", exchange.ErrTransfer, n, at)
	}
	rooms, err := r.room(n)
	if err != nil {
		return err
	}
	r.using.RLock()
	defer r.using.RUnlock()
	if r.ended {
		return nil
	}
	from := memory[tableSize+at:][:n]
	for _, room := range rooms {
		from = from[room.fill(from):]
	}
	if usesIn(memory).of(at, n) != told {
		return fmt.Errorf("%w: the memory of another process was given back while %d bytes of it were read", exchange.ErrTransfer, n)
	}
	return nil
}

// Commit puts the object together.
func (r *receiver) Commit() error {
	r.release()
	var err error
	switch {
	case len(r.records) > 0:
		err = fmt.Errorf("%w: record of %d bytes", exchange.ErrTransfer, len(r.records))
	case len(r.recipe.runs) > 0:
		err = r.follow()
	}
	if err != nil {
		return errors.Join(err, r.writer.Abort())
	}
	return r.writer.Commit()
}

// Abort throws it away.
func (r *receiver) Abort() error {
	r.release()
	return r.writer.Abort()
}

func (r *receiver) release() {
	for _, w := range r.read {
		r.objects.store.windows.release(w)
	}
	r.read = nil
}

func (r *receiver) follow() (err error) {
	if r.base != nil && r.base.key.ID != r.recipe.base {
		r.unpin()
		r.pin(r.recipe.base)
	}
	came := r.made
	r.made = object{}
	defer func() { r.objects.store.extents.giveBack(came.pieces) }() // those that are used are shared
	at := int64(0)
	for _, one := range r.recipe.runs {
		if one.off != literal {
			err = r.repeat(one.off, int(one.n))
		} else if at += one.n; at <= came.size {
			pieces := came.cut(at-one.n, int(one.n))
			r.objects.store.extents.share(pieces)
			r.append(pieces)
		} else {
			err = exchange.ErrTransfer
		}
		if err != nil {
			return err
		}
	}
	return nil
}
