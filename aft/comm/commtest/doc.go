// Package commtest is the suite that every engine passes: what a comm.Comm and
// the collectives on top of it must do, for groups of 1 to 16 ranks.
package commtest
