package comm

// ringLimit is the length in bytes of all ranks' data together above which it
// goes round a ring in a group of more than treeRanks. In smaller ones, n-1
// messages at once do no harm, and the data is better copied while a cache has it.
const ringLimit = 1 << 20

// circulate gives in to all ranks and receives theirs, where part tells; all
// ranks know the lengths, total bytes together. Empty parts are not sent. Every
// rank sends all parts but one either way:
//
//	swap   in one round, n-1 messages to and from as many ranks at once
//	ring   in n-1 rounds, to one neighbour and from the other
func circulate[T Datum](k *call, in []T, total int, part func(r int) []T) error {
	own := part(int(k.c.Rank()))
	copy(own, in) // not later: in may be that part, and others read it
	if k.c.Size() > treeRanks && total > ringLimit {
		return ring(k, part)
	}
	return swap(k, func(int) []T { return own }, part)
}

// ring receives the parts from the left neighbour, the nearest rank's first, and
// sends each on to the right one as soon as it is there.
func ring[T Datum](k *call, part func(r int) []T) error {
	n, me := k.c.Size(), int(k.c.Rank())
	left, right := Rank((me-1+n)%n), Rank((me+1)%n)
	at := func(i int) []T { return part((me - i + n) % n) } // part i has come i steps
	recvs, sends := make([]Request, n), make([]Request, n)
	for i := 1; i < n; i++ {
		if p := at(i); len(p) > 0 {
			recvs[i] = k.irecv(left, bytesOf(p))
		}
	}
	for i := range n {
		if _, err := recvs[i].Wait(k.ctx); err != nil {
			withdraw(recvs[i+1:]...)
			withdraw(sends...)
			return err
		}
		if p := at(i); i < n-1 && len(p) > 0 {
			sends[i] = k.isend(right, bytesOf(p))
		}
	}
	return WaitAll(k.ctx, sends...)
}
