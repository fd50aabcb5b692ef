package control

import (
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

// piece is how much is read before more memory is taken: a false length alone
// takes none.
const piece = 64 << 10

// WriteMessage writes m with one call of Write: its length in 4 bytes, big
// endian, and then the message as JSON, which a newline belongs to: an agent that
// passes on whole lines, as srun does, passes on whole messages.
func WriteMessage(w io.Writer, m Message) error {
	if err := m.Validate(); err != nil {
		return err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMessage, err)
	}
	body = append(body, '\n')
	if len(body) > MaxMessage {
		return fmt.Errorf("%w: %q has %d bytes, at most %d are allowed", ErrMessage, m.Kind, len(body), MaxMessage)
	}
	framed := make([]byte, 4, 4+len(body))
	binary.BigEndian.PutUint32(framed, uint32(len(body)))
	_, err = w.Write(append(framed, body...))
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
	body, err := readPieces(r, int(length))
	if err != nil {
		return Message{}, err
	}
	var m Message
	if err := json.Unmarshal(body, &m); err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	return m, m.Validate()
}

func readPieces(r io.Reader, length int) ([]byte, error) {
	body := make([]byte, 0, min(length, piece))
	for len(body) < length {
		next := min(length, max(piece, 2*len(body)))
		grown := make([]byte, next)
		n := copy(grown, body)
		if _, err := io.ReadFull(r, grown[n:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		body = grown
	}
	return body, nil
}
