package comm

import (
	"context"
	"fmt"
)

// Isend starts to send data to dst. The caller must not change data before the
// request has completed. A bad rank or tag is reported by Wait.
func Isend[T Datum](c *Comm, dst Rank, tag Tag, data []T) Request {
	if err := c.checkSend(dst, tag); err != nil {
		return Request{err: err}
	}
	b := bytesOf(data)
	c.observe(dst, tag, len(b), true)
	return c.isend(dst, tag, b)
}

// Irecv starts to receive from src, which may be AnySource, a message with tag,
// which may be AnyTag. Count gives its length in elements when it is complete.
// A message longer than buf is consumed and reported as ErrTruncated.
func Irecv[T Datum](c *Comm, src Rank, tag Tag, buf []T) Request {
	if err := c.checkRecv(src, tag); err != nil {
		return Request{err: err}
	}
	b := bytesOf(buf)
	c.observe(src, tag, len(b), false)
	return c.irecv(src, tag, b)
}

// Count is the length of a received message in elements of T, or an error
// (ErrTruncated) if the message is not a whole number of them.
func Count[T Datum](st Status) (int, error) {
	size := sizeOf[T]()
	if st.Bytes%size != 0 {
		return st.Bytes / size, fmt.Errorf(
			"%w: message of %d bytes from rank %d with tag %d is not a whole number of elements of %d bytes",
			ErrTruncated, st.Bytes, st.Source, st.Tag, size)
	}
	return st.Bytes / size, nil
}

// Send sends data to dst and returns when data may be changed. The message may
// not have been received yet: small ones are buffered, large ones wait for their
// receiver.
func Send[T Datum](ctx context.Context, c *Comm, dst Rank, tag Tag, data []T) error {
	_, err := Isend(c, dst, tag, data).Wait(ctx)
	return err
}

// Recv receives a message of n elements, n <= len(buf), from src, which may be
// AnySource, with tag, which may be AnyTag.
func Recv[T Datum](ctx context.Context, c *Comm, src Rank, tag Tag, buf []T) (n int, st Status, err error) {
	st, err = Irecv(c, src, tag, buf).Wait(ctx)
	if err != nil {
		return 0, st, err
	}
	n, err = Count[T](st)
	return n, st, err
}

// Sendrecv sends and receives at the same time, so that neighbours can exchange
// large messages without waiting for each other in turn. It returns the length
// of the received message in elements.
func Sendrecv[T Datum](ctx context.Context, c *Comm,
	dst Rank, sendTag Tag, data []T,
	src Rank, recvTag Tag, buf []T,
) (n int, st Status, err error) {
	in := Irecv(c, src, recvTag, buf)
	out := Isend(c, dst, sendTag, data)
	st, err = finish(ctx, in, out)
	if err != nil {
		return 0, st, err
	}
	n, err = Count[T](st)
	return n, st, err
}

// finish waits for both requests and returns the status of the first.
func finish(ctx context.Context, in, out Request) (Status, error) {
	st, err := in.Wait(ctx)
	if err != nil && !isLength(err) {
		withdraw(out)
		return st, err
	}
	if _, sendErr := out.Wait(ctx); sendErr != nil {
		return st, sendErr
	}
	return st, err
}
