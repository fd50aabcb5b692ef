// Package random gives random numbers by index: element i of a random vector
// depends on the seed and on i alone, so that any distribution of the vector
// over ranks and cores gives the same numbers.
package random

// golden is 2^64 divided by the golden ratio, the increment of SplitMix64.
const golden = 0x9e3779b97f4a7c15

// Uniform is a random number in [0, 1), a multiple of 2^-53.
func Uniform(seed uint64, index int64) float64 {
	return float64(mix(mix(seed+golden)+uint64(index)*golden)>>11) / (1 << 53)
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
