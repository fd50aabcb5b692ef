package memory

import (
	"encoding/binary"
	"fmt"

	"github.com/craft-go/craft/storage"
)

// recipe says how a part is made of what comes, and of pieces of an earlier version of it that the
// holders have too. It is sent behind what comes, which alone is borrowed (storage.Borrower).
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

const (
	recipeHead = 8 + len(storage.ID{}.Attempt)
	runSize    = 16
	sentAtOnce = 8 << 10 // so little that it is not sent as a body
)

// send gives it to the writer of another rank; nothing, if all comes.
func (r *recipe) send(to storage.PartWriter) error {
	if !r.uses {
		return nil
	}
	b := binary.LittleEndian.AppendUint64(nil, r.base.Version)
	b = append(b, r.base.Attempt[:]...)
	for _, one := range r.runs {
		b = binary.LittleEndian.AppendUint64(b, uint64(one.off))
		b = binary.LittleEndian.AppendUint64(b, uint64(one.n))
	}
	for len(b) > 0 {
		n := min(len(b), sentAtOnce)
		if _, err := to.Write(b[:n]); err != nil {
			return err
		}
		if err := storage.Borrow(to, nil); err != nil { // sends it
			return err
		}
		b = b[n:]
	}
	return nil
}

// parseRecipe reads what send gives.
func parseRecipe(b []byte) (r recipe, err error) {
	if len(b) < recipeHead || (len(b)-recipeHead)%runSize != 0 {
		return r, fmt.Errorf("recipe of %d bytes for a copy in memory", len(b))
	}
	r.base.Version = binary.LittleEndian.Uint64(b)
	copy(r.base.Attempt[:], b[8:])
	for b = b[recipeHead:]; len(b) > 0; b = b[runSize:] {
		one := run{int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:]))}
		if one.off < literal || one.n < 0 {
			return r, fmt.Errorf("recipe for a copy in memory takes %d bytes at %d", one.n, one.off)
		}
		r.runs = append(r.runs, one)
	}
	return r, nil
}
