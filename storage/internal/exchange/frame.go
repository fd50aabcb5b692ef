package exchange

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/craft-go/craft/aft/comm"
)

// The kinds of frames. Each direction of a stream has its own count of them.
const (
	// From the rank that has opened a stream.
	frameData   byte = 1 + iota // payload: bytes of the part, in their order
	frameCommit                 // payload: the last bytes; keep the part
	frameEnd                    // throw the part away

	// To it.
	frameAccept // payload: what the stream is like
	frameBlock  // payload: the answer to a question
	frameFail   // payload: an error, before the end of a stream
	frameFinal  // payload: an error, or nothing; the last one, or in place of an answer

	// From the rank that has opened a stream.
	frameBody // payload: the next bytes of the part come in a message of their own
)

// A frame is a message of a stream, or the answer to a question: a payload, which comes
// first so that it is aligned in its buffer, and a trailer.
//
//	0  4  stream, or number of the question
//	4  4  number of the frame in its direction, from 0
//	8  1  kind
//	9  3  zero
//	12 4  frameSum of the payload and the trailer up to here
type frame struct {
	kind    byte
	id, seq uint32
	payload []byte
}

const trailerSize = 16

// frameSum is the lower half of XXH3: a frame is never kept, so its checksum
// need not be a common one, and this one takes less time than a CRC.
func frameSum(b []byte) uint32 { return uint32(xxh3.Hash(b)) }

// summer makes the frameSum of what comes in pieces. That takes far longer than at once,
// and mostly all of it comes at once.
type summer struct {
	whole int // bytes in all
	once  uint32
	parts *xxh3.Hasher
}

func (s *summer) add(piece []byte) {
	switch {
	case len(piece) == s.whole:
		s.once = frameSum(piece)
		return
	case s.parts == nil:
		s.parts = xxh3.New()
	}
	_, _ = s.parts.Write(piece)
}

func (s *summer) sum() uint32 {
	if s.parts != nil {
		return uint32(s.parts.Sum64())
	}
	return s.once
}

// seal makes a frame of the first n bytes of buf, which has room for the trailer.
func seal(buf []byte, n int, kind byte, id, seq uint32) []byte {
	t := buf[n : n+trailerSize]
	binary.LittleEndian.PutUint32(t, id)
	binary.LittleEndian.PutUint32(t[4:], seq)
	binary.LittleEndian.PutUint32(t[8:], uint32(kind))
	binary.LittleEndian.PutUint32(t[12:], frameSum(buf[:n+12]))
	return buf[:n+trailerSize]
}

// sealed is a frame in memory of its own.
func sealed(payload []byte, kind byte, id, seq uint32) []byte {
	buf := make([]byte, len(payload)+trailerSize)
	copy(buf, payload)
	return seal(buf, len(payload), kind, id, seq)
}

// parseFrame checks a frame that must be the one with this number of this stream.
func parseFrame(b []byte, id, seq uint32) (frame, error) {
	n := len(b) - trailerSize
	if n < 0 {
		return frame{}, fmt.Errorf("%w: frame of %d bytes", ErrTransfer, len(b))
	}
	if binary.LittleEndian.Uint32(b[n+12:]) != frameSum(b[:n+12]) {
		return frame{}, fmt.Errorf("%w: checksum of a frame with %d bytes", ErrTransfer, n)
	}
	f := frame{
		id: binary.LittleEndian.Uint32(b[n:]), seq: binary.LittleEndian.Uint32(b[n+4:]),
		kind: b[n+8], payload: b[:n],
	}
	if f.id != id || b[n+9]|b[n+10]|b[n+11] != 0 {
		return frame{}, fmt.Errorf("%w: frame of stream %d in stream %d", ErrTransfer, f.id, id)
	}
	if f.seq != seq && f.kind != frameEnd {
		return frame{}, fmt.Errorf("%w: frame %d in the place of frame %d", ErrTransfer, f.seq, seq)
	}
	return f, nil
}

// inlineSize is the largest payload of a frame from the rank that has opened a stream.
// Longer pieces are bodies: messages without anything else in them, sent from where they
// are and used where they arrive.
const inlineSize = 16 << 10

// body is the payload of frameBody.
type body struct {
	n   int
	sum uint32 // frameSum of the bytes
}

func (b body) encode() []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(b.n)), b.sum)
}

func parseBody(p []byte, most int) (body, error) {
	if len(p) != 8 {
		return body{}, fmt.Errorf("%w: announcement of %d bytes", ErrTransfer, len(p))
	}
	b := body{int(binary.LittleEndian.Uint32(p)), binary.LittleEndian.Uint32(p[4:])}
	if b.n < 1 || b.n > most {
		return body{}, fmt.Errorf("%w: announcement of %d bytes, allowed are 1 to %d", ErrTransfer, b.n, most)
	}
	return b, nil
}

// accept is the payload of frameAccept.
type accept struct {
	block int   // largest payload of the stream
	size  int64 // of a part that is read
}

func (a accept) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(a.block))
	return binary.LittleEndian.AppendUint64(b, uint64(a.size))
}

func parseAccept(b []byte, most int) (accept, error) {
	if len(b) != 12 {
		return accept{}, fmt.Errorf("%w: answer of %d bytes", ErrTransfer, len(b))
	}
	a := accept{int(binary.LittleEndian.Uint32(b)), int64(binary.LittleEndian.Uint64(b[4:]))}
	if a.block < minBlock || a.block > most || a.size < 0 {
		return accept{}, fmt.Errorf("%w: answer with blocks of %d bytes, size %d", ErrTransfer, a.block, a.size)
	}
	return a, nil
}

// maxText is how much of the text of an error is sent; a note is a frame that
// has no more than an error in it.
const (
	maxText  = 1024
	noteSize = 4 + maxText + trailerSize
)

// encodeError gives the payload of frameFail and frameFinal.
func encodeError(err error) []byte {
	if err == nil {
		return nil
	}
	text := err.Error()
	if remote, ok := err.(*RemoteError); ok {
		text = remote.Text
	}
	b := binary.LittleEndian.AppendUint32(nil, codesOf(err))
	return append(b, text[:min(len(text), maxText)]...)
}

func parseError(b []byte) error {
	switch {
	case len(b) == 0:
		return nil
	case len(b) < 4:
		return fmt.Errorf("%w: error of %d bytes", ErrTransfer, len(b))
	}
	return &RemoteError{Text: string(b[4:]), codes: binary.LittleEndian.Uint32(b)}
}

// checkRead turns the result of reading a whole range into its error.
func checkRead(n, want int, err error) error {
	switch {
	case n == want:
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %d of %d bytes", io.ErrUnexpectedEOF, n, want)
	}
	return err
}

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
