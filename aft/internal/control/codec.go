package control

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// MaxMessage is how long an encoded message may be, in bytes.
const MaxMessage = 16 << 20

var (
	// ErrMessage is returned for bytes that are no message of the control plane, and
	// for a message that must not be sent.
	ErrMessage = errors.New("invalid control message")
	// ErrVersion is an ErrMessage: a message of another version of the protocol.
	ErrVersion = errors.New("of another version")
)

const (
	lengthBytes = 4
	// lineEnd ends each message: an agent that passes on whole lines, as srun does, passes on whole messages.
	lineEnd = '\n'
	// usual is how long most messages are at most, for which memory is taken at once, and small those of which
	// there are many.
	usual, small = 64 << 10, 128
)

// WriteMessage writes m with one call of Write: its length in 4 bytes, big endian, and then the message as
// describe.go says, and a newline, which belong to the length.
func WriteMessage(w io.Writer, m Message) error {
	frame, err := encode(m)
	if err != nil {
		return err
	}
	_, err = w.Write(frame)
	return err
}

// encode is m as WriteMessage writes it.
func encode(m Message) ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	c := &coder{data: make([]byte, lengthBytes, small)}
	addressFields(c, &m)
	contentFields(c, &m)
	c.data = append(c.data, lineEnd)
	return c.data, cmp.Or(c.err, seal(m.Kind, c.data, 0))
}

// seal enters the length of a message into its head, behind which rest bytes follow.
func seal(kind Kind, head []byte, rest int) error {
	length := len(head) - lengthBytes + rest
	if length > MaxMessage {
		return fmt.Errorf("%w: %q has %d bytes, at most %d are allowed", ErrMessage, kind, length, MaxMessage)
	}
	binary.BigEndian.PutUint32(head, uint32(length))
	return nil
}

// ReadMessage reads one message. It returns io.EOF when r ends before a message,
// io.ErrUnexpectedEOF when it ends within one, and ErrMessage when what it reads
// is none; then nothing more can be read from r. r is best buffered.
func ReadMessage(r io.Reader) (Message, error) {
	head := make([]byte, lengthBytes, small)
	if _, err := io.ReadFull(r, head); err != nil {
		return Message{}, err
	}
	length := binary.BigEndian.Uint32(head)
	if length == 0 || length > MaxMessage {
		return Message{}, fmt.Errorf("%w: length %d, allowed are 1 to %d", ErrMessage, length, MaxMessage)
	}
	body, err := readBody(r, head[:0], int(length))
	if err != nil {
		return Message{}, err
	}
	m, err := decode(body)
	if err != nil {
		return Message{}, err
	}
	return m, m.Validate()
}

// readBody reads into a buffer that grows with what has come: a false length alone takes no memory.
func readBody(r io.Reader, body []byte, length int) ([]byte, error) {
	for len(body) < length {
		have := len(body)
		body = slices.Grow(body, min(length-have, max(usual, have)))
		body = body[:min(length, cap(body))]
		if _, err := io.ReadFull(r, body[have:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return body, nil
}

// decode takes a message from all of its bytes.
func decode(body []byte) (m Message, err error) {
	last := len(body) - 1
	if body[last] != lineEnd {
		return Message{}, fmt.Errorf("%w: it does not end with a newline", ErrMessage)
	}
	c := &coder{reading: true, data: body[:last]}
	addressFields(c, &m)
	contentFields(c, &m)
	if len(c.data) > 0 {
		c.fail("%d bytes are left over", len(c.data))
	}
	return m, c.err
}
