package control

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
)

// Body is what messages have in common that differ in Message.To alone: it is encoded once for all of
// them, and one copy of it waits for their connections. The messages are encoded one at a time.
type Body struct {
	kind, rest []byte // what comes before To, and behind it
	err        error
}

// Frame is m, encoded as WriteMessage writes it, in two parts, of which the second one must not be changed:
// others may share it. Of a message that has nothing in common with others b is nil, and rest.
func (b *Body) Frame(m Message) (head, rest []byte, err error) {
	if b == nil {
		var framed bytes.Buffer
		err := WriteMessage(&framed, m)
		return framed.Bytes(), nil, err
	}
	if len(m.To) > MaxProcs {
		return nil, nil, m.Validate()
	}
	if b.rest == nil && b.err == nil {
		b.encode(m)
	}
	if b.err != nil {
		return nil, nil, b.err
	}
	head = append(make([]byte, 4, 4+len(b.kind)+len(`,"to":[]`)+6*len(m.To)), b.kind...)
	for i, p := range m.To {
		separator := ","
		if i == 0 {
			separator = `,"to":[`
		}
		head = strconv.AppendUint(append(head, separator...), uint64(p), 10)
	}
	if len(m.To) > 0 {
		head = append(head, ']')
	}
	length := len(head) - 4 + len(b.rest)
	if length > MaxMessage {
		return nil, nil, fmt.Errorf("%w: %q has %d bytes, at most %d are allowed", ErrMessage, m.Kind, length, MaxMessage)
	}
	binary.BigEndian.PutUint32(head, uint32(length))
	return head, b.rest, nil
}

func (b *Body) encode(m Message) {
	m.To = nil
	var framed bytes.Buffer
	if b.err = WriteMessage(&framed, m); b.err != nil {
		return
	}
	const frame = 4
	kind := frame + len(`{"kind":""`) + len(m.Kind)
	b.kind, b.rest = framed.Bytes()[frame:kind:kind], framed.Bytes()[kind:]
}
