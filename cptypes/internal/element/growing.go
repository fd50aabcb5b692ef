package element

import "iter"

// Trusted is how many bytes are allocated on the word of a stored length;
// beyond it, memory grows with the bytes that are really there.
const Trusted = 1 << 20

// Growing are the lengths that a list of n elements, which nothing vouches for, is given
// in turn, the first done of them being read by then: memory grows with what the reader
// really holds.
func Growing(n, size int) iter.Seq2[int, int] {
	first := n
	if size > 0 {
		first = min(n, max(1, Trusted/size))
	}
	return func(yield func(done, next int) bool) {
		for done, next := 0, first; yield(done, next) && next < n; {
			done, next = next, min(n, 4*next)
		}
	}
}
