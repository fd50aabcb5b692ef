package krylov

import "slices"

// hold is the memory that lets the process go on while its last two vectors are
// still being read, as by a checkpoint that is written straight from them.
type hold struct {
	held   int         // of the vectors of the next step, how many must not change
	parked [][]float64 // held vectors that the process needs no more
	spare  [][]float64 // free memory; two vectors at most
}

// Hold promises that the memory which Previous and Current have now stays as it
// is until the next Hold: the next two steps put their vectors elsewhere, for which
// there are two more vectors from the first time on. The numbers are the same.
func (l *Lanczos) Hold() {
	h := &l.hold
	h.spare, h.parked = append(h.spare, h.parked...), nil
	h.held = 2
}

// target is the memory for the vector of the next step: that of Previous, which
// is needed no more after it, unless it is held.
func (l *Lanczos) target() []float64 {
	h := &l.hold
	if h.held == 0 {
		return l.Previous
	}
	h.held--
	h.parked = append(h.parked, l.Previous)
	if n := len(h.spare); n > 0 {
		free := h.spare[n-1]
		h.spare = slices.Delete(h.spare, n-1, n)
		return free
	}
	return make([]float64, len(l.Previous))
}
