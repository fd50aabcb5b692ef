// Package remove deletes versions from the nodes, for all ranks: it withdraws a version from
// all who may be working on it in the background, and then lets each node delete what it has.
// What is begun after the deletion would stay. How ranks and nodes are reached is the
// business of a Placement.
package remove
