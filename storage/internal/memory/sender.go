package memory

import (
	"errors"
	"math"

	"github.com/craft-go/craft/internal/offheap"
	"github.com/craft-go/craft/storage"
)

// sender brings a part to another rank that holds it. All bytes are in the own memory, and stay there until
// the sender has ended. A rank of the same host reads them there: it is told where they are. If it
// cannot, all is sent.
type sender struct {
	open  func() (storage.PartWriter, error)
	apart func() // notes that the other rank cannot read the memory of this one

	to    storage.PartWriter
	reads bool            // the other rank reads
	told  offheap.Address // where it reads
}

// add brings the next bytes, which are at these places, the last ones of what the recipe has so far.
func (s *sender) add(offers []room, so *sharing) error {
	if !s.reads {
		for _, one := range offers {
			if err := storage.Borrow(s.to, one.bytes()); err != nil {
				return err
			}
		}
		return nil
	}
	records, err := s.records(offers)
	if err == nil {
		err = send(s.to, records)
	}
	if errors.Is(err, offheap.ErrNotThere) {
		err = s.sendAll(so)
	}
	return err
}

// records say where the bytes are.
func (s *sender) records(offers []room) (out []record, err error) {
	for _, one := range offers {
		if one.of.segment == nil {
			return nil, offheap.ErrNotThere
		}
		if a := one.of.segment.Address(); a != s.told {
			out = append(out, memoryRecord(a))
			s.told = a
		}
		out = append(out, record{recordRead, int64(one.at), int64(one.n), int64(one.of.uses.of(int64(one.at), one.n))})
	}
	return out, nil
}

// sendAll starts anew with messages.
func (s *sender) sendAll(so *sharing) (err error) {
	s.reads = false
	s.apart()
	_ = s.to.Abort() // it has failed
	if s.to, err = s.open(); err != nil {
		s.to = nil
		return err
	}
	at := int64(0)
	var rooms []room
	for _, one := range so.recipe.runs {
		if one.off == literal {
			for _, p := range so.own.made.cut(at, int(one.n)) {
				rooms = adjoin(rooms, p.room(), math.MaxInt)
			}
		}
		at += one.n
	}
	for _, room := range rooms {
		if err := storage.Borrow(s.to, room.bytes()); err != nil {
			return err
		}
	}
	return nil
}

// commit publishes the copy.
func (s *sender) commit(so *sharing) error {
	if s.to == nil {
		return errors.ErrUnsupported // not reached: an error came before
	}
	err := s.finish(so)
	if s.reads && errors.Is(err, offheap.ErrNotThere) {
		if err = s.sendAll(so); err == nil {
			err = s.finish(so)
		}
	}
	return err
}

func (s *sender) finish(so *sharing) error {
	if err := send(s.to, so.recipe.records()); err != nil {
		return errors.Join(err, s.to.Abort())
	}
	return s.to.Commit()
}

func (s *sender) abort() error {
	if s.to == nil {
		return nil
	}
	return s.to.Abort()
}
