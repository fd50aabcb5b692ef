package control

// Body is what messages have in common that differ in Message.To alone: it is encoded once for all of
// them, and one copy of it waits for their connections. The messages are encoded one at a time.
type Body struct {
	content []byte // all behind To
	err     error
}

// Frame is m, encoded as WriteMessage writes it, in two parts, of which the second one must not be changed:
// others may share it. Of a message that has nothing in common with others b is nil, and rest.
func (b *Body) Frame(m Message) (head, rest []byte, err error) {
	if b == nil {
		head, err = encode(m)
		return head, nil, err
	}
	if len(m.To) > MaxProcs {
		return nil, nil, m.Validate()
	}
	if b.content == nil && b.err == nil {
		b.encode(m)
	}
	if b.err != nil {
		return nil, nil, b.err
	}
	c := &coder{data: make([]byte, lengthBytes, small)}
	addressFields(c, &m)
	return c.data, b.content, seal(m.Kind, c.data, len(b.content))
}

func (b *Body) encode(m Message) {
	if b.err = m.Validate(); b.err != nil {
		return
	}
	c := new(coder)
	contentFields(c, &m)
	b.content, b.err = append(c.data, lineEnd), c.err
}
