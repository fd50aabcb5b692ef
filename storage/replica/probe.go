package replica

import "fmt"

// Probe is how the places of copies that must move are drawn (paper, section IV-E and appendix).
type Probe int

const (
	// ProbeA is double hashing (data distribution A): (f(x) + k*h(x)) mod p, with an h(x) that is coprime to p.
	ProbeA Probe = iota
	// ProbeB is a pseudorandom permutation of the seats for each range (data distribution B).
	ProbeB
)

// String gives "A" or "B".
func (p Probe) String() string {
	switch p {
	case ProbeA:
		return "A"
	case ProbeB:
		return "B"
	}
	return fmt.Sprintf("Probe(%d)", int(p))
}

// prober draws, for each range, a sequence in which each seat comes once.
type prober struct {
	probe  Probe
	seats  uint64
	seed   uint64
	primes []uint64 // that divide seats
}

func newProber(probe Probe, seats int, seed uint64) prober {
	return prober{probe: probe, seats: uint64(seats), seed: seed, primes: primesOf(uint64(seats))}
}

// primesOf are the primes that divide n.
func primesOf(n uint64) (out []uint64) {
	for d := uint64(2); d*d <= n; d++ {
		if n%d == 0 {
			out = append(out, d)
			for n%d == 0 {
				n /= d
			}
		}
	}
	if n > 1 {
		out = append(out, n)
	}
	return out
}

// sequence is that of one range; at repeats after as many steps as there are seats.
func (p prober) sequence(q int64) (at func(k uint64) Seat) {
	f := mix(p.seed, uint64(q))
	if p.probe == ProbeB {
		rho := newPermutation(p.seats, f)
		return func(k uint64) Seat { return Seat(rho.at(k % p.seats)) }
	}
	start, step := f%p.seats, p.step(uint64(q))
	return func(k uint64) Seat { return Seat((start + k%p.seats*step) % p.seats) }
}

// step is h(x): hashes with one seed after the other are tried until one is coprime to the number
// of seats, so that the sequence leaves none out (about 1.65 of them).
func (p prober) step(q uint64) uint64 {
	for s := uint64(1); ; s++ {
		h := mix(p.seed+s, q) % p.seats
		if p.seats == 1 || h != 0 && p.coprime(h) {
			return h
		}
	}
}

func (p prober) coprime(h uint64) bool {
	for _, prime := range p.primes {
		if h%prime == 0 {
			return false
		}
	}
	return true
}
