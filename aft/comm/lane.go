package comm

import (
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/demand"
)

// Point is where the calls of this process meet those of the others of its job. Without a job it is that of what the
// process does by itself.
func (s *Session) Point() *demand.Point {
	if m, ok := s.engine.(driver.Meeter); ok {
		return m.Point()
	}
	point, _ := demand.This.Own()
	return point
}

// Lane is where calls that the ranks of c make in one order are counted: with those of all ranks of the job if these are
// the ranks of c, else apart, under a key that its ranks have in common and no others have. A communicator of a process
// alone (Self) has the lane of that process.
func (c *Comm) Lane(key string) (point *demand.Point, lane string) {
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
