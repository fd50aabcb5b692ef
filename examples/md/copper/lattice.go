package copper

import (
	"fmt"
	"math/rand/v2"
)

// Lattice is a crystal of so many unit cells in each direction, with four atoms each.
type Lattice struct{ NX, NY, NZ int }

// most is the largest number of unit cells in a direction: the numbers of atoms are exact as float64, too.
const most = 1 << 17

// Validate looks whether there can be such a crystal.
func (l Lattice) Validate() error {
	for _, n := range []int{l.NX, l.NY, l.NZ} {
		if n < 1 || n > most {
			return fmt.Errorf("%d x %d x %d unit cells: each number must be 1 to %d", l.NX, l.NY, l.NZ, most)
		}
	}
	return nil
}

// Atoms is their number.
func (l Lattice) Atoms() int64 { return int64(len(basis)) * int64(l.NX) * int64(l.NY) * int64(l.NZ) }

// Box is the length of the edges of the crystal, in Å.
func (l Lattice) Box() [3]float64 {
	return [3]float64{LatticeConstant * float64(l.NX), LatticeConstant * float64(l.NY), LatticeConstant * float64(l.NZ)}
}

// basis are the atoms of a unit cell, off its faces: there rounding would say to which of two
// cells an atom belongs.
var basis = [4][3]float64{{0.25, 0.25, 0.25}, {0.25, 0.75, 0.75}, {0.75, 0.25, 0.75}, {0.75, 0.75, 0.25}}

// Position is the place of an atom of the perfect crystal, in Å. Atoms are numbered from 0.
func (l Lattice) Position(id int64) [3]float64 {
	cell, b := id/int64(len(basis)), basis[id%int64(len(basis))]
	nz, ny := int64(l.NZ), int64(l.NY)
	return [3]float64{
		LatticeConstant * (float64(cell/nz/ny) + b[0]),
		LatticeConstant * (float64(cell/nz%ny) + b[1]),
		LatticeConstant * (float64(cell%nz) + b[2]),
	}
}

// Velocity is a random vector of an atom, whose components have a normal distribution with
// variance 1: it is to be scaled to a temperature.
func Velocity(seed uint64, id int64) [3]float64 {
	r := rand.New(rand.NewPCG(seed, uint64(id)))
	return [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
}

// Temperature is that of so many atoms with a kinetic energy, in K and eV.
func Temperature(kinetic float64, atoms int64) float64 {
	return kinetic / (1.5 * Boltzmann * float64(atoms))
}
