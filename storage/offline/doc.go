// Package offline looks at the storage of a checkpoint without being in its job: at the
// checkpoint's directory, and at the directories of its nodes as far as they are on this
// machine. It changes nothing.
//
//	Open ──> Checkpoint ─┬─> Versions   what there is, its state, and why
//	                     └─> Files      the bytes of parts: from the parallel file system,
//	                                    a node, a copy, or out of parity
//
// What is on nodes elsewhere is never taken for lost: a Version says so (Elsewhere), and a
// Node where it is. What can be had and how safe a version is says the catalog, as in a job.
package offline
