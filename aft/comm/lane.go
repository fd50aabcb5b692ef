package comm

import "github.com/craft-go/craft/internal/demand"

// Lane is the point at which calls of this process meet those of the others, and the lane of c
// there.
func (c *Comm) Lane(key string) (point *demand.Point, lane string) { return demand.This.Own() }
