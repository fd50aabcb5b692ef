// Package exchange brings parts, and other streams of bytes, from one rank of a
// job to another: the copy for a partner node while it is written, parity, and
// what a restarted rank reads from wherever it is. It knows neither versions nor
// nodes: what a name means, and where the bytes go, is for the handler.
//
// # Terms
//
// A Service is one rank's end on a communicator that nobody else uses. Its Handler
// is what the rank does for the others. A stream is one part on its way to another rank,
// which serves it. A question is about a part of another rank: what it is like, or what is
// in a range of it; each has one answer, and none follows from another. A block is how much
// travels at once; a frame is a message of a stream, or an answer: a payload and a trailer
// with its number and its checksum. A body is a message of bytes of a part alone, which a
// frame has announced: it is sent from where the bytes are, and one that an Expecter gets
// is used where it arrives. The window is how many blocks are under way.
//
//	Create      Open, ReadAt                           Handler
//	   |             |                                    ^
//	   +-------------+--- request, cancel (tag 0) --> serve     one goroutine per rank
//	   |             |                                    | starts
//	writer ----------|--- frames, bodies -----------> visit     a goroutine for each stream,
//	   ^             |                                    |      one more that receives
//	  run <----------|--- frames -------------------------+
//	              fetch <--- answer ------------------ answer    one for each question
//
// The type writer has what follows what in a stream, request.go and frame.go the bytes
// and the tags.
//
// # Invariants
//
//   - A part is published by a commit alone, after all frames before it have come
//     whole and in their order. Anything else that ends a stream (Abort, an error
//     of either side, a context, the loss of either rank, the end of either
//     service) makes the handler's writer abort: nothing is left.
//   - Commit returns nil only after the handler's Commit has. When it fails while
//     the answer is awaited, the part may be there, whole.
//   - A stream is ended in order also after its user has gone away: one side says
//     that it wants no more, the other one has the last word. So no message stays
//     behind, and its place is free when the other rank has freed it too.
//   - A frame of a writer is never taken back, only its body: so the other rank knows
//     which bodies come, until the end says that none does any more.
//   - Only the receiver's window of blocks is received before the handler has
//     taken them. A send of more waits, and so does Write.
//   - The serving goroutine waits neither for a handler nor for a rank: what is
//     slow holds up its own part alone, and what one rank wants takes no place from
//     the others.
//   - Who answers keeps nothing between two questions. A part is open as long as there are
//     some about it: so an open reader costs the other rank nothing, and there may be any
//     number.
//   - Both sides count the requests of a rank to another one, so a question that is damaged on
//     its way has an answer, too.
//   - What a peer says is checked before it is used, and bounded: names, blocks, ranges,
//     streams and questions at a time. Memory for another rank is at most Streams * Window *
//     Block for its streams, and as much for answers on their way to it; for the streams and
//     questions of this rank as much, and 3 * Window * Block for what its readers keep.
//   - Every goroutine is waited for in Close, every buffer is back then, or with the Close
//     of its reader.
//
// # Failures
//
// A rank that has failed ends what needs it with comm.ErrProcFailed; a revoked
// communicator ends everything with comm.ErrRevoked; a service that ends before
// the others (Close with a context that ends, or the context of New) says so, and
// they get ErrClosed. Errors of the other rank's handler are RemoteErrors.
//
// A writer or reader to the own rank is the handler's, without a message.
//
// A goroutine that holds streams while it waits for a place for one more (Streams to one rank
// at a time) waits for itself; another goroutine's are given back when they end.
package exchange
