package memory

import (
	"encoding/binary"
	"fmt"

	"github.com/craft-go/craft/internal/offheap"
	"github.com/craft-go/craft/storage"
)

// recipe says how a part is made of what comes, and of pieces of an earlier version of it that the
// holders have too. It is sent behind what comes.
type recipe struct {
	base storage.ID
	runs []run
	uses bool // the base
}

// run are bytes of the base, or the next ones that come.
type run struct {
	off int64 // in the base, or literal
	n   int64
}

const literal = -1

// add appends a run.
func (r *recipe) add(off int64, n int) {
	r.uses = r.uses || off != literal
	if len(r.runs) > 0 {
		last := &r.runs[len(r.runs)-1]
		if off == literal && last.off == literal || off != literal && last.off != literal && last.off+last.n == off {
			last.n += int64(n)
			return
		}
	}
	r.runs = append(r.runs, run{off, int64(n)})
}

// records are the recipe as it is sent; none, if all comes.
func (r *recipe) records() (out []record) {
	if !r.uses {
		return nil
	}
	out = append(out, record{recordBase, int64(r.base.Version), int64(binary.LittleEndian.Uint64(r.base.Attempt[:]))})
	for _, one := range r.runs {
		out = append(out, record{recordRun, one.off, one.n})
	}
	return out
}

// record is a line of a recipe, or says where bytes are to be had that do not come as a message.
type record [5]int64

const (
	recordBase   = 1 + iota // version, attempt
	recordRun               // run
	recordMemory            // offheap.Address: of what is read from now on
	recordRead              // where the next bytes are in it, how many, how often their extents were used
)

const (
	recordSize = 8 * len(record{})
	sentAtOnce = 8 << 10 / recordSize // so few that they are not sent as a body
)

func (r record) base() (id storage.ID) {
	id.Version = uint64(r[1])
	binary.LittleEndian.PutUint64(id.Attempt[:], uint64(r[2]))
	return id
}

func (r record) memory() offheap.Address {
	return offheap.Address{PID: r[1], FD: r[2], Size: r[3], Token: r[4]}
}

func memoryRecord(a offheap.Address) record {
	return record{recordMemory, a.PID, a.FD, a.Size, a.Token}
}

// send gives records to the writer of another rank, without waiting for more.
func send(to storage.PartWriter, records []record) error {
	for len(records) > 0 {
		now := records[:min(len(records), sentAtOnce)]
		records = records[len(now):]
		b, err := binary.Append(nil, binary.LittleEndian, now)
		if err != nil {
			return err
		}
		if _, err := to.Write(b); err != nil {
			return err
		}
		if err := storage.Borrow(to, nil); err != nil { // sends it
			return err
		}
	}
	return nil
}

// parseRecord reads what send gives.
func parseRecord(b []byte) (r record, err error) {
	if _, err := binary.Decode(b, binary.LittleEndian, &r); err != nil {
		return r, err
	}
	switch {
	case r[0] < recordBase || r[0] > recordRead:
		return r, fmt.Errorf("record of kind %d for a copy in memory", r[0])
	case r[0] == recordRun && (r[1] < literal || r[2] < 0):
		return r, fmt.Errorf("recipe for a copy in memory takes %d bytes at %d", r[2], r[1])
	case r[0] == recordRead && (r[1] < 0 || r[1] > largestSlab || r[2] < 1 || r[2] > pieceSize):
		return r, fmt.Errorf("copy in memory reads %d bytes at %d", r[2], r[1])
	}
	return r, nil
}
