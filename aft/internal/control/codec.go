package control

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxMessage is how long an encoded message may be, in bytes.
const MaxMessage = 16 << 20

// ErrMessage is returned for bytes that are no message of the control plane, and
// for a message that must not be sent.
var ErrMessage = errors.New("invalid control message")

// usual is how long most messages are at most, for which memory is taken at once.
const usual = 64 << 10

// WriteMessage writes m with one call of Write: its length in 4 bytes, big
// endian, and then the message as JSON, which a newline belongs to: an agent that
// passes on whole lines, as srun does, passes on whole messages.
func WriteMessage(w io.Writer, m Message) error {
	if err := m.Validate(); err != nil {
		return err
	}
	framed := bytes.NewBuffer(make([]byte, 4))
	if err := json.NewEncoder(framed).Encode(m); err != nil { // with the newline
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	length := framed.Len() - 4
	if length > MaxMessage {
		return fmt.Errorf("%w: %q has %d bytes, at most %d are allowed", ErrMessage, m.Kind, length, MaxMessage)
	}
	binary.BigEndian.PutUint32(framed.Bytes(), uint32(length))
	_, err := w.Write(framed.Bytes())
	return err
}

// ReadMessage reads one message. It returns io.EOF when r ends before a message,
// io.ErrUnexpectedEOF when it ends within one, and ErrMessage when what it reads
// is none; then nothing more can be read from r. r is best buffered.
func ReadMessage(r io.Reader) (Message, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Message{}, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length == 0 || length > MaxMessage {
		return Message{}, fmt.Errorf("%w: length %d, allowed are 1 to %d", ErrMessage, length, MaxMessage)
	}
	var body bytes.Buffer // grows with what has come: a false length alone takes no memory
	body.Grow(min(int(length), usual) + bytes.MinRead)
	if _, err := io.CopyN(&body, r, int64(length)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Message{}, err
	}
	var m Message
	if err := json.Unmarshal(body.Bytes(), &m); err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return m, m.Validate()
}
