// Package commtest is what every engine passes: Run, the suite without failures
// (what a driver.Comm and the collectives of package comm on top of it must do, for groups of 1 to
// 16 ranks), and RunFailures, the suite of failures.
//
// # Failures
//
// Every operation is tried with a process that has died before, that dies in the
// middle (at a random moment), and afterwards among those that are left. A trial
// is a body that all ranks run, known by a name, so that a launcher of processes
// can have it run in them: the name carries the seed of all that is random.
//
//	in this process                           in processes of their own
//	launch(t, n, name, body)                  launch(t, n, name, body)
//	  embedded.RunInproc(ctx, cfg, body)        start n times: test binary, name
//	  commtest.Verdict(t, err)                    body, err := commtest.Body(name)
//	                                              err = body(ctx, c, faults)
//	                                              os.Exit(commtest.ExitCode(err))
//
// What is asked of an engine, beyond the words of package driver:
//
//   - A failure is known in time: whoever waits for a dead rank gets a FailedError
//     that names it, and from then on Failed lists it.
//   - A message that has arrived is delivered, also after its sender's death, and
//     to a receive from any source also while a failure is not acknowledged. One
//     that is on its way is delivered as a whole or not at all.
//   - Only what needs a dead rank fails: named receives, sends and all of other
//     communicators go on. A receive from any source fails while a failure is not
//     acknowledged, and when nobody else is left.
//   - Revoke ends the operations of its communicator with ErrRevoked, and nothing
//     else; it reaches all, also when its caller dies at once. Agree and Shrink go
//     on. Dup, Split and Spawn are interrupted on those that have come, and those
//     that have not come yet need not: it must not matter to a later Agree or
//     Shrink that some ranks have taken part in a Dup and others have not.
//   - Agree, Shrink, Dup, Split and Spawn give all survivors the same answer, the
//     ranks in their FailedError included.
//
// The tests of this package run both suites on a model of an engine, and see that
// the suite of failures finds faults that are built into it.
package commtest
