// Package lj is the potential of Lennard and Jones with a cut-off, and the loop in which a
// molecular dynamics spends its time.
//
//	V(r) = 4 ε ((σ/r)¹² - (σ/r)⁶) - shift     for r < cut-off, else 0
//
// The shift makes the energy continuous at the cut-off, as in CoMD: a pair that comes or goes
// there changes the energy by nothing. Its force has a step there, which is small.
//
// Each pair is computed twice, once for each of its atoms: what acts on an atom is one
// sum in one order, which does not depend on who computes it. With half of the
// work, by actio = reactio, the order would be that in which cells are done.
package lj
