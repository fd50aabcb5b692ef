package comm

import "context"

// Allgather collects the in of all ranks, of the same length m, in out on all
// ranks: m elements of each rank, n*m in all. in may be this rank's part of out.
func Allgather[T Datum](ctx context.Context, c *Comm, in, out []T) error {
	k := c.begin(ctx, "Allgather", tagAllgather)
	n, m := c.Size(), len(in)
	if len(out) != n*m {
		k.misfit("in has %d elements on %d ranks, out %d", m, n, len(out))
	}
	length := m * sizeOf[T]()
	switch {
	case n == 1:
		if !k.refuses() {
			copy(out, in)
		}
		return k.end(nil)
	case n*length <= gatherLimit:
		return k.end(allgatherShort(&k, in, out))
	}
	err := agreeLength(&k, length)
	if err == nil {
		err = circulate(&k, in, n*length, func(r int) []T { return out[r*m : (r+1)*m] })
	}
	return k.end(err)
}

func allgatherShort[T Datum](k *call, in, out []T) error {
	n, me, m := k.c.Size(), int(k.c.Rank()), len(in)
	work, all := acquire[T](n * m)
	copy(all, in)
	err := gatherBlocks(k, bytesOf(all))
	if err == nil {
		copy(out[me*m:], all[:(n-me)*m])
		copy(out, all[(n-me)*m:])
	}
	work.free()
	return err
}

// Allgatherv collects the in of all ranks, of any length, on all ranks: element
// r of the result is that of rank r.
func Allgatherv[T Datum](ctx context.Context, c *Comm, in []T) ([][]T, error) {
	k := c.begin(ctx, "Allgatherv", tagAllgatherv)
	out, err := allgatherv(&k, in)
	return out, k.end(err)
}

func allgatherv[T Datum](k *call, in []T) ([][]T, error) {
	n, me := k.c.Size(), int(k.c.Rank())
	rotated, counts := make([]int64, n), make([]int64, n)
	rotated[0] = int64(len(in))
	if err := gatherBlocks(k, bytesOf(rotated)); err != nil {
		return nil, err
	}
	total := 0
	for i, count := range rotated {
		counts[(me+i)%n] = count
		total += int(count) * sizeOf[T]()
	}
	out := carve[T](counts)
	if err := circulate(k, in, total, func(r int) []T { return out[r] }); err != nil {
		return nil, err
	}
	return out, nil
}

// AllgatherBytes collects the data of all ranks, of any length, on all ranks:
// element r of the result is that of rank r.
func AllgatherBytes(ctx context.Context, c *Comm, data []byte) ([][]byte, error) {
	return Allgatherv(ctx, c, data)
}
