package comm

import "math/bits"

// Recursive doubling (Thakur, Rabenseifner, Gropp 2005) lets all ranks know what
// combines the values of all of them in log2 n rounds: in round k, the ranks whose
// places differ in bit k tell each other what they know. Both combine the lower
// place's part with the higher one's in that order, so they get the same bits.
//
// If n is not a power of two, the excess ranks are guests of their left
// neighbour: they hand in their value first and get the result at the end.
//
//	n = 6    rank   0 <- 1   2 <- 3   4   5
//	         place  0        1        2   3
//
// As in dissemination, all rounds take place whatever happens to the lengths,
// and everybody hears of a refusal.

// partners is what one rank does in recursive doubling.
type partners struct {
	host, guest Rank   // -1: none
	peers       []Rank // in the order of the rounds; none if there is a host
}

func partnersOf(c *Comm) partners {
	n, me := c.Size(), int(c.Rank())
	full := 1 << (bits.Len(uint(n)) - 1)
	excess := n - full
	p := partners{host: -1, guest: -1}
	place := me - excess
	if me < 2*excess {
		if me%2 == 1 {
			p.host = Rank(me - 1)
			return p
		}
		p.guest, place = Rank(me+1), me/2
	}
	for bit := 1; bit < full; bit *= 2 {
		peer := place ^ bit
		if peer < excess {
			p.peers = append(p.peers, Rank(2*peer))
		} else {
			p.peers = append(p.peers, Rank(peer+excess))
		}
	}
	return p
}

// knowledge is what combines the values of the ranks that this one has heard of.
type knowledge interface {
	// message is for the others.
	message() []byte
	// room takes one of them.
	room() []byte
	// join adds what a peer knows, adopt puts the result in the place of what is
	// known. room has it, if err is not a length error.
	join(peer Rank, st Status, err error)
	adopt(st Status, err error)
}

// doubling goes through all rounds.
func doubling(k *call, v knowledge) error {
	p := partnersOf(k.c)
	if p.host >= 0 {
		if _, err := k.isend(p.host, v.message()).Wait(k.ctx); err != nil {
			return err
		}
		st, err := k.irecv(p.host, v.room()).Wait(k.ctx)
		if err != nil && !isLength(err) {
			return err
		}
		v.adopt(st, err)
		return nil
	}
	if p.guest >= 0 {
		st, err := k.irecv(p.guest, v.room()).Wait(k.ctx)
		if err != nil && !isLength(err) {
			return err
		}
		v.join(p.guest, st, err)
	}
	for _, peer := range p.peers {
		st, err := k.exchange(peer, v.message(), peer, v.room())
		if err != nil && !isLength(err) {
			return err
		}
		v.join(peer, st, err)
	}
	if p.guest >= 0 {
		_, err := k.isend(p.guest, v.message()).Wait(k.ctx)
		return err
	}
	return nil
}

// heardLengths is the knowledge of the lengths that the ranks gave.
type heardLengths struct {
	known lengths
	buf   [noticeSize]byte
}

func (h *heardLengths) message() []byte { return h.known.notice() }
func (h *heardLengths) room() []byte    { return h.buf[:] }

func (h *heardLengths) join(_ Rank, st Status, err error) {
	heard := refusal
	if err == nil {
		if l, ok := parseNotice(h.buf[:st.Bytes]); ok {
			heard = l
		}
	}
	h.known = h.known.join(heard)
}

// newHeard is what a rank knows at first, with its own length.
func newHeard(length int, refuse bool) *heardLengths {
	if refuse {
		return &heardLengths{known: refusal}
	}
	return &heardLengths{known: lengths{length, length}}
}

// verdict is what has come of the rounds, which have ended with err.
func (h *heardLengths) verdict(err error) error {
	if err == nil && h.known.differ() {
		return errDiffer()
	}
	return err
}

func (h *heardLengths) adopt(st Status, err error) { h.join(0, st, err) }

// agreeLengthDoubling is agreeLength for collectives whose short form is
// recursive doubling: the ranks of both forms must meet in the same rounds.
func agreeLengthDoubling(k *call, length int) error {
	h := newHeard(length, k.refuses())
	return h.verdict(doubling(k, h))
}
