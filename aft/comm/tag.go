package comm

import "fmt"

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

// EngineTag is the highest tag that engines may use for themselves; those
// between it and AnyTag belong to this package.
const EngineTag Tag = -1000

// Matches tells whether a receive for want takes a message with this tag.
func (t Tag) Matches(want Tag) bool {
	return t == want || (want == AnyTag && t >= 0)
}

func checkUserTag(tag Tag) error {
	if tag < 0 {
		return fmt.Errorf("%w: %d, allowed are 0 and above", ErrTag, tag)
	}
	return nil
}
