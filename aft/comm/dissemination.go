package comm

// Dissemination (Hensgen, Finkel, Manber 1988; Bruck et al. 1997) lets every
// rank hear from every other one in ceil(log2 n) rounds: in round k, rank r
// sends all it knows to r-2^k and receives from r+2^k (mod n).
//
// The functions here go through all rounds whatever happens to the lengths, and
// pass a refusal on as soon as they have noticed one. Since everybody hears from
// everybody, directly or not, all ranks end with the same verdict, also if some
// of them are in the one function and some in the other.

// dissemination calls round with the ranks to exchange with and how many
// blocks are known before it and sent in it.
func dissemination(c *Comm, round func(dst, src Rank, known, count int) error) error {
	n, me := c.Size(), int(c.Rank())
	for known := 1; known < n; known *= 2 {
		dst, src := Rank((me-known+n)%n), Rank((me+known)%n)
		if err := round(dst, src, known, min(known, n-known)); err != nil {
			return err
		}
	}
	return nil
}

// gatherBlocks collects one block of each rank. all has room for them; block i
// is that of rank (me+i) mod n, and block 0 is set by the caller. A rank that
// refuses takes part with any all.
func gatherBlocks(k *call, all []byte) error {
	size, refuse := len(all)/k.c.Size(), k.refuses()
	err := dissemination(k.c, func(dst, src Rank, known, count int) error {
		data := all[:count*size]
		if refuse {
			data = refusal.notice()
		}
		buf := all[known*size : (known+count)*size]
		st, err := k.exchange(dst, data, src, buf)
		if err != nil && !isLength(err) {
			return err
		}
		refuse = refuse || !isData(st, err, buf)
		return nil
	})
	if err == nil && refuse {
		return errDiffer()
	}
	return err
}

// agreeLength makes sure that all ranks gave the same length, before they start
// an algorithm that could not cope with different ones.
func agreeLength(k *call, length int) error {
	h := newHeard(length, k.refuses())
	return h.verdict(dissemination(k.c, func(dst, src Rank, _, _ int) error {
		st, err := k.exchange(dst, h.message(), src, h.room())
		if err != nil && !isLength(err) {
			return err
		}
		h.join(src, st, err)
		return nil
	}))
}
