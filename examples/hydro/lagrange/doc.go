// Package lagrange is compressible flow on a mesh that moves with the material, in three
// dimensions: what the proxy application LULESH does (Hornung, Keasler and Gokhale,
// LLNL-TR-490254; Karlin, Keasler and Neely, LLNL-TR-641973), reduced to one material.
// It knows nothing of ranks: a [Mesh] is one box of elements, and what it needs of the
// elements around the box it asks [Neighbours] for.
//
// Elements are hexahedra. Nodes, their corners, have positions, velocities and masses;
// elements have an energy, a pressure, an artificial viscosity and a volume. Positions,
// volumes and pressures are of whole steps, velocities and energies of the half steps
// between:
//
//	  velocity, energy       velocity, energy
//	      n-1/2                  n+1/2
//	--------|-----------|----------|-----------|-------- time
//	                    n                     n+1
//	       position, volume, pressure    position, ...
//
// A step (step.go) goes from n to n+1:
//
//	force.go      what each element does to each of its eight corners: pressure and
//	              viscosity times the derivative of its volume, and a force against
//	              hourglass modes, motions that change no volume (Flanagan and Belytschko,
//	              Int. J. Num. Meth. Eng. 17, 1981)
//	motion.go     forces on each node, added in the order of the elements in the whole
//	              cube; new velocities; the work of the same forces on the same motion is
//	              taken from the energies of the elements; new positions
//	kinematics.go new volumes; how fast each element is compressed, in three directions
//	material.go   viscosity where an element is compressed faster than its
//	              neighbours let expect (monotonic limiter), pressure of an ideal gas,
//	              and how long the next step may be (Courant condition, and change of volume)
//
// Because an element loses just the work that it does (Caramana, Burton, Shashkov and
// Whalen, J. Comp. Phys. 146, 1998), the sum of kinetic and internal energy stays what it
// was at the beginning, but for rounding (to 1e-12).
//
// The problem is that of Sedov: energy in one point of a cold gas, of which one octant is
// computed. The planes x = 0, y = 0 and z = 0 are planes of symmetry, where nodes do not
// leave the plane; the other three sides are free. The element in the origin has all of
// the energy.
//
// All that is computed has the same bits however the cube is divided into boxes, on machines of one kind: what
// is local is computed by the same operations, sums have a fixed order, and the least of
// several numbers depends on no order.
package lagrange
