// Package boxes divides a cube of cells into one box for each rank.
//
// A box has the cells lo <= (i,j,k) < hi. Cells have nodes at their corners: a box
// of cells touches the nodes lo <= (i,j,k) <= hi, so neighbours share those on
// their common faces, edges and corners. Each node of the cube is owned by one
// box, that of the cell above it, or at the upper faces of the cube the last one
// below:
//
//	cells        [0 . . . 4)[4 . . . 8)       a line of 8, two boxes
//	nodes        0  1  2  3  4                of the first one
//	                         4  5  6  7  8    of the second one, which owns 4
//
// So what is kept at cells and at nodes can be checkpointed as boxes that cover a
// global array once.
package boxes
