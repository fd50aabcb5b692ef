// Nested sweeps the strength of the disorder of graphene and finds the lowest
// eigenvalue for each value: a loop over the points with a Lanczos computation
// inside. It shows checkpoints that are nested: "sweep" holds the results so
// far, "lanczos" the state of the computation that is under way.
//
//	go run ./examples/nested
//
// Kill it at any time, start it again with the same parameters, and it goes on
// inside the point where it was, to the same digits. The calls that make it so
// are in sweep.go (outer loop) and eigenvalue.go (inner loop). Two rules:
//
//   - sweep.SubCP(inner) says that what inner stores belongs to the point that
//     sweep is at. As soon as sweep has stored the results of a point, what inner
//     stored on the way there is not used any more.
//   - sweep.UpdateAndWrite is called after every point, also when it is not due.
//
// With -levels the inner checkpoint stays on the nodes, and the outer one calls
// DisableSCR: its versions are few, and survive the loss of all nodes.
//
// A signal that asks for the end (SIGTERM, Ctrl-C) has the next call save that can be restored:
// mostly one of inner, in the midst of a point. sweep.Finish marks the sweep as done.
//
// With -outer-freq above 1, points whose results are not stored yet are computed
// again after a restart, and inner checkpoints on the way, which no restart could
// reach, are skipped.
//
// With -json it prints one object: results, in the order of the points;
// restarted_from, the first point of this run after a restart that read "sweep",
// or -1; inner_restarted_from, the first iteration of this run in its first point
// if it read "lanczos", or -1; digest, the SHA-256 of all results (result.go);
// levels, if there are any; and what checkpoints cost, as in examples/lanczos.
package main
