package commtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/aft/comm"
)

var requestTrials = []trial{
	{"cancelled receive", 1, cancelledReceive},
	{"cancelled send", 1, cancelledSend},
	{"completed before the context ended", 1, completedFirst},
	{"cause of the cancellation", 1, cancelCause},
	{"many outstanding", 1, manyOutstanding},
	{"more than is buffered", 2, backPressure},
	{"concurrent users", 1, concurrentUsers},
	{"collectives of different kinds at once", 1, concurrentKinds},
}

var errStop = errors.New("stop")

// stopped is a context that has ended because of errStop.
func stopped(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(errStop)
	return ctx
}

func cancelledReceive(ctx context.Context, c *comm.Comm) error {
	for _, length := range []int{8, 100 << 10} {
		lost := make([]byte, length)
		_, err := comm.Irecv(c, left(c), 1, lost).Wait(stopped(ctx))
		check(wants(context.Canceled, "cancelled receive", err))
		_, err = comm.Irecv(c, comm.AnySource, comm.AnyTag, lost).Wait(stopped(ctx))
		check(wants(context.Canceled, "cancelled receive from any source", err))
		check(comm.Barrier(ctx, c))
		buf := make([]byte, length)
		_, _, err = comm.Sendrecv(ctx, c, right(c), 1, pattern(c.Rank(), 1, length), left(c), 1, buf)
		check(err,
			equalSlices("later message", buf, pattern(left(c), 1, length)),
			equalSlices("buffer of the cancelled receive", lost, make([]byte, length)))
	}
	return nil
}

// cancelledSend withdraws a message that is too long to be buffered. Its data
// can be changed afterwards, and the receiver never sees it.
func cancelledSend(ctx context.Context, c *comm.Comm) error {
	const length = 1 << 20
	data := pattern(c.Rank(), 1, length)
	_, err := comm.Isend(c, right(c), 1, data).Wait(stopped(ctx))
	check(wants(context.Canceled, "cancelled send, too long to be buffered", err))
	check(comm.Barrier(ctx, c))
	clear(data)
	data[0] = 9
	buf := make([]byte, length)
	_, _, err = comm.Sendrecv(ctx, c, right(c), 1, data, left(c), 1, buf)
	return first(err, equalSlices("later message", buf, data))
}

func completedFirst(ctx context.Context, c *comm.Comm) error {
	buf := make([]byte, 3)
	recv := comm.Irecv(c, left(c), 1, buf)
	send := comm.Isend(c, right(c), 1, []byte{1, 2, 3})
	// Messages of one sender arrive in their order: when the later one is here, the
	// first is. (A barrier does not tell: its messages come from other ranks.)
	if _, _, err := comm.Sendrecv(ctx, c, right(c), 2, []byte{4}, left(c), 2, make([]byte, 1)); err != nil {
		return err
	}
	if _, err := send.Wait(ctx); err != nil {
		return err
	}
	st, err := recv.Wait(stopped(ctx))
	if errors.Is(err, errStop) {
		return fmt.Errorf("a receive whose message had arrived was cancelled: %w", err)
	}
	return first(err, equal("length", st.Bytes, 3), equalSlices("data", buf, []byte{1, 2, 3}))
}

func cancelCause(ctx context.Context, c *comm.Comm) error {
	_, _, err := comm.Recv(stopped(ctx), c, left(c), 1, make([]byte, 1))
	var detail *comm.WithdrawnError
	if !errors.As(err, &detail) {
		return fmt.Errorf("got error %v, want a WithdrawnError", err)
	}
	return first(wants(errStop, "cause", err), wants(context.Canceled, "cause", err))
}

func manyOutstanding(ctx context.Context, c *comm.Comm) error {
	const messages = 500
	random := rand.New(rand.NewPCG(1, uint64(c.Rank())))
	values := make([]int64, messages)
	var requests []comm.Request
	for _, tag := range random.Perm(messages) {
		requests = append(requests, comm.Irecv(c, left(c), comm.Tag(tag), values[tag:tag+1]))
	}
	for _, tag := range random.Perm(messages) {
		requests = append(requests, comm.Isend(c, right(c), comm.Tag(tag), []int64{int64(tag) * 3}))
	}
	random.Shuffle(len(requests), func(i, k int) { requests[i], requests[k] = requests[k], requests[i] })
	check(comm.WaitAll(ctx, requests...))
	for tag, v := range values {
		check(equal("value", v, int64(tag)*3))
	}
	return nil
}

// backPressure sends far more than an engine may buffer before anything is
// received, in messages that are short enough to be buffered one by one.
func backPressure(ctx context.Context, c *comm.Comm) error {
	const messages, length = 600, 32 << 10
	if c.Size() > 4 && c.Rank() > 1 {
		return nil // memory: one pair is enough in a large group
	}
	if c.Rank() == 0 {
		data := make([]byte, length)
		var sends []comm.Request
		for range messages {
			sends = append(sends, comm.Isend(c, 1, 1, data))
		}
		check(comm.Send(ctx, c, 1, 2, data[:0]))
		return comm.WaitAll(ctx, sends...)
	}
	if c.Rank() != 1 {
		return nil
	}
	buf := make([]byte, length)
	if _, _, err := comm.Recv(ctx, c, 0, 2, buf); err != nil {
		return err
	}
	for range messages {
		if n, _, err := comm.Recv(ctx, c, 0, 1, buf); err != nil || n != length {
			return fmt.Errorf("received %d bytes, error %w", n, err)
		}
	}
	return nil
}

func concurrentUsers(ctx context.Context, c *comm.Comm) error {
	users, ctx := errgroup.WithContext(ctx)
	for user := range comm.Tag(4) {
		users.Go(func() error {
			for i := range 20 {
				length := 8 << (i % 15)
				buf := make([]byte, length)
				data := pattern(c.Rank(), user+comm.Tag(i), length)
				_, _, err := comm.Sendrecv(ctx, c, right(c), user, data, left(c), user, buf)
				want := pattern(left(c), user+comm.Tag(i), length)
				if err := first(err, equalSlices("data", buf, want)); err != nil {
					return fmt.Errorf("user %d: %w", user, err)
				}
			}
			return nil
		})
	}
	return users.Wait()
}

func concurrentKinds(ctx context.Context, c *comm.Comm) error {
	kinds, ctx := errgroup.WithContext(ctx)
	const rounds = 10
	kinds.Go(func() error {
		for range rounds {
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
	kinds.Go(func() error {
		for i := range rounds {
			sum, err := comm.AllreduceOne(ctx, c, i, comm.Sum)
			if err := first(err, equal("sum", sum, i*c.Size())); err != nil {
				return err
			}
		}
		return nil
	})
	kinds.Go(func() error {
		for i := range rounds {
			all, err := comm.Allgatherv(ctx, c, slices.Repeat([]int{i}, int(c.Rank())))
			if err != nil {
				return err
			}
			for r, part := range all {
				if err := equalSlices("part", part, slices.Repeat([]int{i}, r)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return kinds.Wait()
}
