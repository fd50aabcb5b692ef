// Package checkpoint is the registry of what a program needs to be restarted.
//
//	cp, err := checkpoint.New("heat", nil)      // nil: the program is one process
//	cp.Add("field", &field)                     // errors come back from Commit
//	if err := cp.Commit(); err != nil { ... }
//	defer cp.Close()
//	iter := 0
//	if err := cp.RestartIfNeeded(ctx, &iter); err != nil { ... }
//	for ; iter < n; iter++ {
//		step(field)
//		if err := cp.UpdateAndWrite(ctx, iter, 10); err != nil { ... }
//	}
//
// Terms, beside those of package storage:
//
//   - A lineage is a chain of runs that restart from one another. A run that
//     does not read a checkpoint starts a new one. A restart never goes back
//     behind the newest lineage.
//   - A version is usable if it is complete and all ranks can read it. The
//     newest usable version is restored; only wrong bytes set a version aside.
//   - A fingerprint is what the program says about its problem (matrix, seed,
//     sizes), so that a directory of another problem is recognised.
//   - A version is in flight while a background writer (WithAsync) has captured
//     it and the ranks have not settled it; there is at most one.
//   - A stage of a checkpoint is what lies between two of its UpdateAndWrite; a
//     checkpoint nested in it (SubCP) belongs to the stage that it was written in.
//
// With a communicator, New, Add and Commit are called by every rank in the same
// order, and RestartIfNeeded, UpdateAndWrite, Write and Wait are collective: all
// ranks call them with the same arguments, and all get an error if one does.
//
// docs/checkpointing.md is a guide.
//
// The package follows CRAFT (Shahzad et al., IEEE TPDS 30(3), 2019, section 2).
package checkpoint
