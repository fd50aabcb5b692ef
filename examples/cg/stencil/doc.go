// Package stencil is the matrix of HPCCG (Mantevo), of which no element is stored: 27 on
// the diagonal, and -1 for each of the up to 26 neighbours that a point of a grid has.
//
// The grid has planes of NX x NY points each. A rank has some planes that follow one
// another, and needs one plane more below and above for a product with the matrix. It asks
// the ranks that have them, and computes its inner planes meanwhile:
//
//	rank 1    plane 5  ----.    .---> above
//	                       | \/ |
//	                       | /\ |
//	rank 0    plane 4  <---'    '---- plane 4 is what rank 1 has below
//	          plane 3            inner ones need nobody
//
// # The same bits on any number of ranks
//
// A sum over the grid is one over each plane, in an order that depends on nothing but the
// plane's size, and then one over the planes from the lowest to the highest, whoever has
// which of them. So dot products have the same bits on any number of ranks, and with them
// all that is computed.
//
// # Why it is not stored
//
// HPCCG stores values and columns, 324 bytes for each row, and a product is as fast as they
// can be read. All of them are known. What is not stored need not be made anew on other
// ranks after a failure, is in no checkpoint, and a product reads 8 bytes in place of 324. The
// price is that an iteration is shorter than HPCCG's, so that what checkpoints cost is a
// larger share of it.
package stencil
