package replica

import "math/bits"

// permutation is a pseudorandom permutation of 0 .. n-1 in constant space: a Feistel network over
// the smallest even number of bits that holds n, and walking along its cycle while it leaves
// the domain (fewer than 4 steps on average).
type permutation struct {
	n    uint64
	half uint // bits
	key  uint64
}

// feistelRounds are what makes a Feistel network of random functions a good permutation.
const feistelRounds = 4

func newPermutation(n, key uint64) permutation {
	half := uint(bits.Len64(max(n, 2)-1)+1) / 2
	return permutation{n: n, half: half, key: key}
}

// at is the image of x.
func (p permutation) at(x uint64) uint64 {
	for {
		l, r := x>>p.half, x&p.mask()
		for i := range uint64(feistelRounds) {
			l, r = r, l^p.round(i, r)
		}
		if x = l<<p.half | r; x < p.n {
			return x
		}
	}
}

// of is what has the image y.
func (p permutation) of(y uint64) uint64 {
	for {
		l, r := y>>p.half, y&p.mask()
		for i := range uint64(feistelRounds) {
			l, r = r^p.round(feistelRounds-1-i, l), l
		}
		if y = l<<p.half | r; y < p.n {
			return y
		}
	}
}

func (p permutation) mask() uint64 { return 1<<p.half - 1 }

func (p permutation) round(i, x uint64) uint64 { return mix(p.key+i, x) & p.mask() }

// mix is a hash of two numbers (the finalizer of splitmix64).
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
