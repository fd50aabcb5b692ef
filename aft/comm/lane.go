package comm

import (
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/demand"
)

func init() {
	demand.LaneOf = func(communicator any, key string) (point *demand.Point, lane string) {
		return communicator.(*Comm).lane(key)
	}
}

// lane is where calls that the ranks of c make in one order are counted: with those of all ranks of the job if these are
// the ranks of c, else apart, under a key that its ranks have in common and no others have. A communicator of a process
// alone (Self) has the lane of that process.
func (c *Comm) lane(key string) (point *demand.Point, lane string) {
	m, meets := c.session.engine.(driver.Meeter)
	if !meets {
		m, meets = c.driver.(driver.Meeter)
	}
	switch {
	case !meets:
		return demand.This.Own()
	case c.size == c.session.ranks():
		return m.Point(), demand.World
	}
	return m.Point(), key
}

// ranks is how many the job has or, without a session, the communicator that others are made of.
func (s *Session) ranks() int {
	if c := s.Place().Comm; c != nil {
		return c.size
	}
	return s.bare
}
