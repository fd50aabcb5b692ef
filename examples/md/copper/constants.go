package copper

// Copper as a Lennard-Jones solid, fitted to its lattice constant at room temperature and to
// its melting point (Wolf and Yip, eds., Materials Interfaces, 1992, page 230).
const (
	Sigma           = 2.315       // Å, where the energy of a pair is zero
	Epsilon         = 0.167       // eV, by which a pair is bound
	LatticeConstant = 3.615       // Å, edge of the unit cell
	Mass            = 63.55 * amu // of an atom
)

// Boltzmann's constant in eV/K.
const Boltzmann = 8.6173324e-5

// amu is the atomic mass unit in eV fs² / Å².
const amu = 1.660538921e-27 * 1e-10 * 1e-10 / (1e-15 * 1e-15 * 1.602176565e-19)
