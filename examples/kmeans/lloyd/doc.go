// Package lloyd is one iteration of k-means clustering (Lloyd's algorithm): each
// point belongs to the nearest centre, and each centre moves to the mean of its
// points.
//
// The points are cut into blocks of [BlockPoints]. Within a block they are added up
// in their order; the sums of blocks are added up exactly, as integers. So the
// result has the same bits whoever has which blocks: any number of ranks, with any
// blocks on each, finds the same centres.
package lloyd
