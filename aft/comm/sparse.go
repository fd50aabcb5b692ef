package comm

import (
	"context"
	"encoding/binary"
	"errors"
)

// The tags of a SparseAlltoallv: a rank may be one call ahead of others, so that two calls
// in a row have different ones.
const (
	tagSparseHead Tag = -100 - iota
	tagSparseData
	tagSparseTaken
	tagSparseBarrier
	sparseTags = 4
)

// sparseInline is the length in bytes up to which data travels with its count.
const sparseInline = 2 << 10

// SparseAlltoallv sends parts[r], of any length, to those ranks r that are in parts, and returns
// what others have sent to this one, by rank. Nobody has to know who sends to it. It costs
// two or three messages for each part and log n empty ones, and no memory that grows
// with the number of ranks (the NBX algorithm of Hoefler, Siebert and Lumsdaine, PPoPP 2010,
// with an answer in the place of a synchronous send).
func SparseAlltoallv[T Datum](ctx context.Context, c *Comm, parts map[Rank][]T) (map[Rank][]T, error) {
	k := c.begin(ctx, "SparseAlltoallv", tagSparseHead-sparseTags*Tag(c.sparse.Add(1)&1))
	for r := range parts {
		if err := c.checkRank(r); err != nil {
			k.bad, parts = err, nil
		}
	}
	s := &sparse[T]{call: k, parts: parts, taken: make(map[Rank][]T)}
	if err := k.end(s.run()); err != nil {
		return nil, err
	}
	return s.taken, nil
}

type sparse[T Datum] struct {
	call
	parts map[Rank][]T
	taken map[Rank][]T
	unfit error // of a part that is not a whole number of elements
}

// at is one of the tags of this call.
func (s *sparse[T]) at(tag Tag) Tag { return s.tag + tag - tagSparseHead }

// errDelivered ends the wait for more.
var errDelivered = errors.New("all ranks have delivered")

// run takes parts until all ranks know that theirs were taken.
func (s *sparse[T]) run() error {
	if own, ok := s.parts[s.c.rank]; ok {
		s.taken[s.c.rank] = append(make([]T, 0, len(own)), own...)
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	delivered := make(chan error, 1)
	go func() {
		err := s.deliver(ctx)
		if err == nil {
			cancel(errDelivered)
		} else {
			cancel(err)
		}
		delivered <- err
	}()
	err := s.take(ctx)
	if err != nil {
		cancel(err)
	}
	if failed := <-delivered; failed != nil && (err == nil || errors.Is(err, failed)) {
		err = failed
	}
	return err
}

// deliver sends the parts, and returns when those of all ranks were taken.
func (s *sparse[T]) deliver(ctx context.Context) error {
	var requests []Request
	for r, part := range s.parts {
		if r == s.c.rank {
			continue
		}
		data := bytesOf(part)
		head := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
		requests = append(requests, s.c.irecv(r, s.at(tagSparseTaken), nil))
		if len(data) <= sparseInline {
			requests = append(requests, s.c.isend(r, s.at(tagSparseHead), append(head, data...)))
		} else {
			requests = append(requests, s.c.isend(r, s.at(tagSparseHead), head), s.c.isend(r, s.at(tagSparseData), data))
		}
	}
	if err := WaitAll(ctx, requests...); err != nil {
		return err
	}
	return s.barrier(ctx)
}

// barrier goes on when all ranks have delivered. Its messages are empty, unless a rank has
// refused, which has sent less than it was to: then all know.
func (s *sparse[T]) barrier(ctx context.Context) error {
	message, buf := []byte{}, make([]byte, 1)
	if s.refuses() {
		message = make([]byte, 1)
	}
	err := dissemination(s.c, func(dst, src Rank, _, _ int) error {
		in := s.c.irecv(src, s.at(tagSparseBarrier), buf)
		st, err := finish(ctx, in, s.c.isend(dst, s.at(tagSparseBarrier), message))
		if st.Bytes > 0 {
			message = make([]byte, 1)
		}
		return err
	})
	if err == nil && len(message) > 0 {
		return errDiffer()
	}
	return err
}

// take takes what comes until ctx ends because all ranks have delivered.
func (s *sparse[T]) take(ctx context.Context) error {
	head := make([]byte, 8+sparseInline)
	for {
		st, err := s.c.irecv(AnySource, s.at(tagSparseHead), head).Wait(ctx)
		if err == nil {
			err = s.receive(ctx, st.Source, head[:st.Bytes])
		}
		switch {
		case context.Cause(ctx) == errDelivered:
			return s.unfit
		case err != nil:
			return err
		}
	}
}

// receive takes one part. One that does not fit is answered, too: its sender waits.
func (s *sparse[T]) receive(ctx context.Context, source Rank, head []byte) error {
	if len(head) < 8 {
		return errDiffer()
	}
	length, size := int(binary.LittleEndian.Uint64(head)), sizeOf[T]()
	part := make([]T, (length+size-1)/size)
	data := bytesOf(part)[:length]
	if length <= sparseInline {
		copy(data, head[8:])
	} else if _, err := s.c.irecv(source, s.at(tagSparseData), data).Wait(ctx); err != nil {
		return err
	}
	if s.taken[source] = part; length%size != 0 {
		s.unfit = errArgument("rank %d gave %d bytes, the elements of this rank have %d", source, length, size)
	}
	_, err := s.c.isend(source, s.at(tagSparseTaken), nil).Wait(ctx)
	return err
}
