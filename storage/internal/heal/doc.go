// Package heal brings back the redundancy that versions have lost: in the background, each
// rank gets its own part back to its node and gives it to what protects it there. How that
// is done, and who is told, is the business of a Placement.
//
// A version that is deleted meanwhile is canceled: what is begun ends, and nobody is told
// that it has failed.
package heal
