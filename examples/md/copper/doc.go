// Package copper makes a crystal of copper: a face-centred cubic lattice, and the momenta
// of its atoms at a temperature. An atom is made from its number alone, so that it is the
// same whichever rank makes it.
//
// Units are those of CoMD (the co-design molecular dynamics of the ExMatEx project, from
// which the numbers are): Ångström, femtoseconds, electronvolts, and for a mass
// eV fs² / Å², so that a force in eV/Å divided by a mass is an acceleration in Å/fs².
package copper
