package comm

import "context"

// Taker is a communicator that hands messages over where they have arrived.
type Taker interface {
	// Itake is Irecv without a buffer, for a message of up to n bytes: take is given
	// the message in one or more pieces, in their order. It is called by the engine, which goes
	// on when it has returned, so it must not wait; it may read a piece only until
	// then. After Wait has returned it is called no more. If Wait returns an error,
	// take may have been given a part of the message.
	Itake(src Rank, tag Tag, n int, take func(piece []byte)) Request
}

// Itake receives a message of up to n bytes by take; see Taker. Of a communicator
// that is none it comes in one piece, in Wait.
func Itake(c Comm, src Rank, tag Tag, n int, take func(piece []byte)) Request {
	if t, ok := c.(Taker); ok {
		return t.Itake(src, tag, n, take)
	}
	buf := make([]byte, max(n, 0))
	return taking{c.Irecv(src, tag, buf), buf, take}
}

// taking is a receive into a buffer that take is given.
type taking struct {
	Request

	buf  []byte
	take func(piece []byte)
}

func (t taking) Wait(ctx context.Context) (Status, error) {
	st, err := t.Request.Wait(ctx)
	if err == nil {
		t.take(t.buf[:st.Bytes])
	}
	return st, err
}
