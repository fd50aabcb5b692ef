package lj

// Potential of a pair of atoms.
type Potential struct {
	sigma6  float64 // σ⁶
	epsilon float64
	square  float64 // of the cut-off
	shift   float64 // over 4 ε
}

// New is the potential with the depth epsilon, that is zero at sigma (but for the shift) and
// from the cut-off on.
func New(sigma, epsilon, cutoff float64) Potential {
	p := Potential{epsilon: epsilon, square: cutoff * cutoff}
	p.sigma6 = sigma * sigma * sigma * sigma * sigma * sigma
	s6 := p.sigma6 / (p.square * p.square * p.square)
	p.shift = s6 * (s6 - 1)
	return p
}

// Pair is the energy of a pair whose distance has a square, and the force on one of its atoms
// divided by the distance: positive if the other one repels it.
func (p *Potential) Pair(square float64) (energy, force float64) {
	if square >= p.square {
		return 0, 0
	}
	inverse := 1 / square
	s6 := p.sigma6 * inverse * inverse * inverse
	return 4 * p.epsilon * (s6*(s6-1) - p.shift), 24 * p.epsilon * s6 * (2*s6 - 1) * inverse
}
