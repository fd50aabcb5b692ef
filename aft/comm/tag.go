package comm

import (
	"fmt"

	"github.com/craft-go/craft/aft/comm/driver"
)

// Tag tells messages between the same two ranks apart. Tags of programs are
// not negative; negative ones belong to this package and to the engines.
type Tag int

// AnyTag matches every tag that is not negative.
const AnyTag Tag = driver.AnyTag

// Reserved tags, one for each kind of collective. They stay apart from each
// other and from those of programs, and AnyTag does not match them.
const (
	tagBarrier Tag = -2 - iota
	tagBcast
	tagBcastBytes
	tagReduce
	tagAllreduce
	tagGather
	tagGatherv
	tagAllgather
	tagAllgatherv
	tagScatter
	tagScatterv
	tagAlltoallv
)

// checkSend is what is wrong with a destination and a tag, or nil.
func (c *Comm) checkSend(dst Rank, tag Tag) error {
	if err := c.checkRank(dst); err != nil {
		return err
	}
	return checkTag(tag)
}

// checkRecv is what is wrong with a source and a tag, or nil.
func (c *Comm) checkRecv(src Rank, tag Tag) error {
	if src != AnySource {
		if err := c.checkRank(src); err != nil {
			return err
		}
	}
	if tag == AnyTag {
		return nil
	}
	return checkTag(tag)
}

func checkTag(tag Tag) error {
	if tag < 0 {
		return fmt.Errorf("%w: %d, allowed are 0 and above", ErrTag, tag)
	}
	return nil
}

func (c *Comm) checkRank(r Rank) error {
	if r < 0 || int(r) >= c.size {
		return fmt.Errorf("%w: %d, allowed are 0 to %d", ErrRank, r, c.size-1)
	}
	return nil
}
