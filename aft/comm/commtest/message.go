package commtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
)

var messageTrials = []trial{
	{"ring", 1, ring},
	{"types", 1, types},
	{"order", 2, order},
	{"any source", 2, anySource},
	{"tags select", 1, tagsSelect},
	{"reserved tags stay apart", 2, reservedTags},
	{"to itself", 1, toItself},
	{"truncated", 1, truncated},
	{"taken where it has arrived", 1, taken},
	{"part of an element", 1, partOfElement},
	{"bad arguments", 1, badArguments},
}

// messageLengths are none, one, some, around 64 KiB (where engines change from
// copy to rendezvous), and in small groups a few MiB.
func messageLengths(c *comm.Comm) []int {
	n := []int{0, 1, 100, 64 << 10, 64<<10 + 1, 300<<10 + 1}
	if c.Size() <= 3 {
		n = append(n, 3<<20+17)
	}
	return n
}

func ring(ctx context.Context, c *comm.Comm) error {
	for i, length := range messageLengths(c) {
		tag := comm.Tag(i)
		buf := make([]byte, length+5)
		n, st, err := comm.Sendrecv(ctx, c,
			right(c), tag, pattern(c.Rank(), tag, length),
			left(c), tag, buf)
		err = first(err,
			equal("length", n, length),
			equal("status", st, comm.Status{Source: left(c), Tag: tag, Bytes: length}),
			equalSlices("data", buf[:n], pattern(left(c), tag, length)),
			equalSlices("rest of the buffer", buf[n:], make([]byte, len(buf)-n)))
		if err != nil {
			return fmt.Errorf("%d bytes: %w", length, err)
		}
	}
	return nil
}

func taken(ctx context.Context, c *comm.Comm) error {
	for i, length := range messageLengths(c) {
		tag := comm.Tag(i)
		var got []byte
		take := func(piece []byte) { got = append(got, piece...) }
		short := comm.Itake(c, left(c), tag, length-1, take)
		whole := comm.Itake(c, left(c), tag, length, take)
		data := pattern(c.Rank(), tag, length)
		sends := []comm.Request{comm.Isend(c, right(c), tag, data), comm.Isend(c, right(c), tag, data)}
		_, tooLong := short.Wait(ctx)
		st, err := whole.Wait(ctx)
		if length > 0 && !errors.Is(tooLong, comm.ErrTruncated) {
			return fmt.Errorf("%d bytes for %d: %v", length, length-1, tooLong)
		}
		err = first(err, comm.WaitAll(ctx, sends...),
			equal("status", st, comm.Status{Source: left(c), Tag: tag, Bytes: length}),
			equalSlices("data", got, pattern(left(c), tag, length)))
		if err != nil {
			return fmt.Errorf("%d bytes: %w", length, err)
		}
	}
	return nil
}

type celsius float32

func types(ctx context.Context, c *comm.Comm) error {
	return first(
		pass(ctx, c, []int8{-1, 2}), pass(ctx, c, []uint16{1, 65535}),
		pass(ctx, c, []int32{-5}), pass(ctx, c, []int64{1 << 60, -3}),
		pass(ctx, c, []int{7, -8}), pass(ctx, c, []uint64{1 << 63}),
		pass(ctx, c, []float32{1.5}), pass(ctx, c, []float64{-0.25, 1e300}),
		pass(ctx, c, []complex64{2 + 3i}), pass(ctx, c, []complex128{-1i, 4}),
		pass(ctx, c, []bool{true, false, true}), pass(ctx, c, []celsius{36.6}),
	)
}

func pass[T interface {
	comm.Datum
	comparable
}](ctx context.Context, c *comm.Comm, data []T) error {
	buf := make([]T, len(data))
	n, _, err := comm.Sendrecv(ctx, c, right(c), 1, data, left(c), 1, buf)
	return first(err, equalSlices(fmt.Sprintf("%T", data), buf[:n], data))
}

// order sends long and short messages with one tag from each rank to the next.
func order(ctx context.Context, c *comm.Comm) error {
	const messages = 60
	length := func(i int) int {
		if i%7 == 3 {
			return 70 << 10
		}
		return 8 * (1 + i%5)
	}
	sends := make([]comm.Request, messages)
	for i := range sends {
		data := make([]int64, length(i)/8)
		data[0] = int64(i)
		sends[i] = comm.Isend(c, right(c), 5, data)
	}
	check(comm.Barrier(ctx, c))
	buf := make([]int64, 70<<10)
	for i := range messages {
		tag := comm.Tag(5)
		if i%2 == 1 {
			tag = comm.AnyTag
		}
		n, _, err := comm.Recv(ctx, c, left(c), tag, buf)
		check(err, equal("message", buf[0], int64(i)), equal("length", n, length(i)/8))
	}
	return comm.WaitAll(ctx, sends...)
}

func anySource(ctx context.Context, c *comm.Comm) error {
	const each = 10
	if c.Rank() != 0 {
		for i := range each {
			check(comm.Send(ctx, c, 0, comm.Tag(i), []int{int(c.Rank())*each + i}))
		}
		return nil
	}
	next := make([]int, c.Size())
	for range each * (c.Size() - 1) {
		var v [1]int
		_, st, err := comm.Recv(ctx, c, comm.AnySource, comm.AnyTag, v[:])
		check(err,
			equal("tag", st.Tag, comm.Tag(next[max(st.Source, 0)])),
			equal("value", v[0], int(st.Source)*each+int(st.Tag)))
		next[st.Source]++
	}
	for r := 1; r < c.Size(); r++ {
		check(equal("messages of a rank", next[r], each))
	}
	return nil
}

func tagsSelect(ctx context.Context, c *comm.Comm) error {
	for tag := range comm.Tag(4) {
		check(comm.Send(ctx, c, right(c), tag, []int{int(tag)}))
	}
	check(comm.Barrier(ctx, c))
	for _, tag := range []comm.Tag{2, 0, 3, 1} {
		var v [1]int
		_, st, err := comm.Recv(ctx, c, left(c), tag, v[:])
		check(err, equal("value", v[0], int(tag)), equal("tag", st.Tag, tag))
	}
	return nil
}

// reservedTags leaves receives for any message posted during collectives, and posts
// one while a message of a collective waits ahead of the program's.
func reservedTags(ctx context.Context, c *comm.Comm) error {
	var v [1]int
	recv := comm.Irecv(c, comm.AnySource, comm.AnyTag, v[:])
	sum, err := comm.AllreduceOne(ctx, c, 1, comm.Sum)
	check(err, equal("sum", sum, c.Size()))
	data := []int{int(c.Rank()) + 7}
	begun := make(chan error, 1)
	if c.Rank() == 0 { // it may have to wait for the others
		go func() { begun <- comm.Bcast(ctx, c, 0, data) }()
	}
	check(comm.Send(ctx, c, right(c), 9, []int{42}))
	st, err := recv.Wait(ctx)
	check(err, equal("tag", st.Tag, 9), equal("value", v[0], 42))
	if c.Rank() != 0 {
		begun <- comm.Bcast(ctx, c, 0, data)
	}
	return first(<-begun, equal("broadcast", data[0], 7))
}

func toItself(ctx context.Context, c *comm.Comm) error {
	for _, length := range messageLengths(c) {
		data := pattern(c.Rank(), 1, length)
		for _, receiveFirst := range []bool{true, false} {
			buf := make([]byte, length)
			var recv, send comm.Request
			if receiveFirst {
				recv = comm.Irecv(c, c.Rank(), 1, buf)
				send = comm.Isend(c, c.Rank(), 1, data)
			} else {
				send = comm.Isend(c, c.Rank(), 1, data)
				recv = comm.Irecv(c, comm.AnySource, 1, buf)
			}
			if err := first(comm.WaitAll(ctx, recv, send), equalSlices("data", buf, data)); err != nil {
				return fmt.Errorf("%d bytes: %w", length, err)
			}
		}
	}
	return nil
}

func truncated(ctx context.Context, c *comm.Comm) error {
	for _, length := range []int{100, 100 << 10} {
		sends := []comm.Request{
			comm.Isend(c, right(c), 1, pattern(c.Rank(), 1, length)),
			comm.Isend(c, right(c), 1, []byte{7}),
		}
		buf := make([]byte, 10)
		_, st, err := comm.Recv(ctx, c, left(c), 1, buf)
		var detail *comm.TruncatedError
		if !errors.Is(err, comm.ErrTruncated) || !errors.As(err, &detail) {
			return fmt.Errorf("message longer than the buffer: got error %v, want a TruncatedError", err)
		}
		check(
			equal("detail", *detail, comm.TruncatedError{
				Status: comm.Status{Source: left(c), Tag: 1, Bytes: length}, Buffer: 10,
			}),
			equal("status beside the error", st, detail.Status))
		n, _, err := comm.Recv(ctx, c, left(c), 1, buf)
		if err := first(err, equal("length", n, 1), equal("data", buf[0], 7)); err != nil {
			return fmt.Errorf("next message: %w", err)
		}
		check(comm.WaitAll(ctx, sends...))
	}
	return nil
}

func partOfElement(ctx context.Context, c *comm.Comm) error {
	check(comm.Send(ctx, c, right(c), 1, make([]byte, 12)))
	_, st, err := comm.Recv(ctx, c, left(c), 1, make([]float64, 2))
	return first(wants(comm.ErrTruncated, "12 bytes as float64", err), equal("length", st.Bytes, 12))
}

// wants is an error unless err matches target.
func wants(target error, what string, err error) error {
	if !errors.Is(err, target) {
		return fmt.Errorf("%s: got error %v, want %v", what, err, target)
	}
	return nil
}

func badArguments(ctx context.Context, c *comm.Comm) error {
	end := comm.Rank(c.Size())
	v := []int{1}
	recv := func(src comm.Rank, tag comm.Tag) error {
		_, _, err := comm.Recv(ctx, c, src, tag, v)
		return err
	}
	_, bytesErr := comm.BcastBytes(ctx, c, end, nil)
	_, gatherErr := comm.Gatherv(ctx, c, end, v)
	_, scatterErr := comm.Scatterv[int](ctx, c, end, nil)
	return first(
		wants(comm.ErrRank, "send past the end", comm.Send(ctx, c, end, 0, v)),
		wants(comm.ErrRank, "send to AnySource", comm.Send(ctx, c, comm.AnySource, 0, v)),
		wants(comm.ErrRank, "receive past the end", recv(end, 0)),
		wants(comm.ErrRank, "receive from -2", recv(-2, 0)),
		wants(comm.ErrTag, "send with AnyTag", comm.Send(ctx, c, 0, comm.AnyTag, v)),
		wants(comm.ErrTag, "send with -2", comm.Send(ctx, c, 0, -2, v)),
		wants(comm.ErrTag, "receive with -2", recv(0, -2)),
		wants(comm.ErrRank, "Bcast", comm.Bcast(ctx, c, end, v)),
		wants(comm.ErrRank, "BcastBytes", bytesErr),
		wants(comm.ErrRank, "Reduce", comm.Reduce(ctx, c, -1, v, v, comm.Sum)),
		wants(comm.ErrRank, "Gather", comm.Gather(ctx, c, end, v, v)),
		wants(comm.ErrRank, "Gatherv", gatherErr),
		wants(comm.ErrRank, "Scatter", comm.Scatter(ctx, c, end, v, v)),
		wants(comm.ErrRank, "Scatterv", scatterErr),
	)
}
