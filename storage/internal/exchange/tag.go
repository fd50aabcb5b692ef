package exchange

import "github.com/craft-go/craft/aft/comm"

// The tags of the service's own communicator. A stream has three of its own, so
// that its messages meet nobody else's receives: they are numbered by the rank
// that has opened it. A question has one, for its answer.
const (
	tagRequest comm.Tag = 0
	tagBye     comm.Tag = 1
	tagStreams comm.Tag = 2
)

// streamTags bounds the tags of engines that have few. A stream would have to
// outlive a million others to meet its number again, and then it is left out.
const streamTags = 1 << 20

func slotOf(id uint32) uint32 { return id % streamTags }

// frameTag is the tag of frames from the rank that has opened the stream.
func frameTag(id uint32) comm.Tag { return tagStreams + 3*comm.Tag(slotOf(id)) }

// replyTag is the tag of messages to it.
func replyTag(id uint32) comm.Tag { return frameTag(id) + 1 }

// bodyTag is the tag of bodies from the rank that has opened the stream.
func bodyTag(id uint32) comm.Tag { return frameTag(id) + 2 }

// answerTag is the tag of the answer to a question.
func answerTag(id uint32) comm.Tag { return tagStreams + 3*streamTags + comm.Tag(slotOf(id)) }
