package commtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// vectorTrials send messages from several pieces of memory.
func vectorTrials(seed uint64, repeats int) []trial {
	with := func(try func(context.Context, *comm.Comm, *rand.Rand) error) func(context.Context, *comm.Comm) error {
		return func(ctx context.Context, c *comm.Comm) error {
			return try(ctx, c, rand.New(rand.NewPCG(seed, uint64(c.Rank()))))
		}
	}
	return []trial{
		{"none", 1, noPieces},
		{"received in every way", 1, with(piecesReceived)},
		{"among others", 1, with(piecesAmongOthers)},
		{"truncated", 1, with(piecesTruncated)},
		{"cancelled", 1, with(piecesCancelled)},
		{"cancelled half way", 2, with(func(ctx context.Context, c *comm.Comm, random *rand.Rand) error {
			return piecesCancelledHalfWay(ctx, c, random, repeats)
		})},
		{"bad arguments", 1, piecesBadArguments},
	}
}

// cutUp is a copy of data in pieces, each in memory of its own. Some are empty.
func cutUp(random *rand.Rand, data []byte) (pieces [][]byte) {
	longest := max(1<<random.IntN(21), len(data)/1000)
	for len(data) > 0 {
		if random.IntN(8) == 0 {
			pieces = append(pieces, nil)
		}
		n := min(random.IntN(longest+1), len(data))
		pieces = append(pieces, slices.Clone(data[:n]))
		data = data[n:]
	}
	return append(pieces, make([][]byte, random.IntN(3))...)
}

func noPieces(ctx context.Context, c *comm.Comm) error {
	for _, pieces := range [][][]byte{nil, {nil}, {{}, nil, {}}} {
		send := comm.Isendv(c, right(c), 1, pieces...)
		n, st, err := comm.Recv(ctx, c, left(c), 1, make([]byte, 1))
		check(err, equal("length", n, 0), equal("status", st, comm.Status{Source: left(c), Tag: 1}))
		must(send.Wait(ctx))
	}
	return nil
}

func piecesReceived(ctx context.Context, c *comm.Comm, random *rand.Rand) error {
	tag := comm.Tag(0)
	return forLengths(messageLengths(c), "bytes", func(length int) error {
		for _, src := range []comm.Rank{left(c), comm.AnySource} {
			for _, takes := range []bool{false, true} {
				tag++
				got := make([]byte, length)
				post := func() comm.Request { return comm.Irecv(c, src, tag, got) }
				if takes {
					got = got[:0]
					post = func() comm.Request {
						return comm.Itake(c, src, tag, length, func(piece []byte) { got = append(got, piece...) })
					}
				}
				pieces := cutUp(random, pattern(c.Rank(), tag, length))
				start := func() comm.Request { return comm.Isendv(c, right(c), tag, pieces...) }
				var send, recv comm.Request
				if random.IntN(2) == 0 {
					send, recv = start(), post()
				} else {
					recv, send = post(), start()
				}
				st, err := recv.Wait(ctx)
				check(err,
					equal("status", st, comm.Status{Source: left(c), Tag: tag, Bytes: length}),
					equalSlices("data", got, pattern(left(c), tag, length)))
				must(send.Wait(ctx))
			}
		}
		return nil
	})
}

// piecesAmongOthers sends many messages at once, of pieces and in one, long and short, in
// their order.
func piecesAmongOthers(ctx context.Context, c *comm.Comm, random *rand.Rand) error {
	const messages = 60
	length := func(i int) int { return []int{10, 3000, 150 << 10}[i*i%7%3] }
	sends := make([]comm.Request, messages)
	all := make([][]byte, messages)
	for i := range sends {
		all[i] = pattern(c.Rank(), comm.Tag(i), length(i))
		if i%3 == 2 {
			sends[i] = comm.Isend(c, right(c), 1, all[i])
			continue
		}
		pieces := cutUp(random, all[i])
		sends[i] = comm.Isendv(c, right(c), 1, pieces...)
		if length(i) == 10 {
			must(sends[i].Wait(ctx)) // it is buffered
			clearAll(pieces)
			sends[i] = comm.Request{}
		}
	}
	buf := make([]byte, 150<<10)
	for i := range messages {
		n, _, err := comm.Recv(ctx, c, left(c), 1, buf)
		check(err, equalSlices(fmt.Sprint("message ", i), buf[:n], pattern(left(c), comm.Tag(i), length(i))))
	}
	return comm.WaitAll(ctx, sends...)
}

func clearAll(pieces [][]byte) {
	for i := range pieces {
		clear(pieces[i])
		pieces[i] = nil
	}
}

func piecesTruncated(ctx context.Context, c *comm.Comm, random *rand.Rand) error {
	return forLengths([]int{100, 100 << 10, 1 << 20}, "bytes", func(length int) error {
		data := pattern(c.Rank(), 1, length)
		sends := []comm.Request{
			comm.Isendv(c, right(c), 1, cutUp(random, data)...),
			comm.Isendv(c, right(c), 1, cutUp(random, data)...),
			comm.Isendv(c, right(c), 1, []byte{7}, nil, []byte{8}),
		}
		buf := make([]byte, 10)
		want := comm.Status{Source: left(c), Tag: 1, Bytes: length}
		_, st, err := comm.Recv(ctx, c, left(c), 1, buf)
		check(wants(comm.ErrTruncated, "received", err), equal("status", st, want))
		var taken int
		st, err = comm.Itake(c, left(c), 1, length-1, func(b []byte) { taken += len(b) }).Wait(ctx)
		check(wants(comm.ErrTruncated, "taken", err), equal("status", st, want), equal("bytes taken", taken, 0))
		n, _, err := comm.Recv(ctx, c, left(c), 1, buf)
		check(err, equalSlices("next message", buf[:n], []byte{7, 8}))
		return comm.WaitAll(ctx, sends...)
	})
}

// piecesCancelled: see cancelledSend.
func piecesCancelled(ctx context.Context, c *comm.Comm, random *rand.Rand) error {
	const length = 1 << 20
	pieces := cutUp(random, pattern(c.Rank(), 1, length))
	_, err := comm.Isendv(c, right(c), 1, pieces...).Wait(stopped(ctx))
	check(wants(context.Canceled, "cancelled send, too long to be buffered", err))
	clearAll(pieces)
	check(comm.Barrier(ctx, c))
	next := comm.Isendv(c, right(c), 1, cutUp(random, pattern(c.Rank(), 2, length))...)
	buf := make([]byte, length)
	_, _, err = comm.Recv(ctx, c, left(c), 1, buf)
	check(err, equalSlices("later message", buf, pattern(left(c), 2, length)))
	_, err = next.Wait(ctx)
	return err
}

// piecesCancelledHalfWay: the receive is there, and the send is cancelled at any moment. The
// message arrives as it was, though its pieces change when the send has ended, or not at all.
func piecesCancelledHalfWay(ctx context.Context, c *comm.Comm, random *rand.Rand, repeats int) error {
	const length = 1 << 20
	buf := make([]byte, length)
	for i := range comm.Tag(repeats) {
		recv := comm.Irecv(c, left(c), 1, buf)
		pieces := cutUp(random, pattern(c.Rank(), i, length))
		short, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(500))*time.Microsecond)
		_, err := comm.Isendv(c, right(c), 1, pieces...).Wait(short)
		cancel()
		clearAll(pieces)
		if err != nil {
			check(wants(context.DeadlineExceeded, "cancelled send", err))
			check(comm.Send(ctx, c, right(c), 1, []byte{1}))
		}
		st, err := recv.Wait(ctx)
		check(err)
		if st.Bytes != 1 {
			check(equalSlices("data", buf[:st.Bytes], pattern(left(c), i, length)))
		}
	}
	return nil
}

func piecesBadArguments(ctx context.Context, c *comm.Comm) error {
	_, rankErr := comm.Isendv(c, comm.AnySource, 1, []byte{1}).Wait(ctx)
	_, tagErr := comm.Isendv(c, 0, comm.AnyTag, []byte{1}).Wait(ctx)
	return first(wants(comm.ErrRank, "send to AnySource", rankErr), wants(comm.ErrTag, "send with AnyTag", tagErr))
}
