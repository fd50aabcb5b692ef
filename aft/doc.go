// Package aft makes a program survive the failure of its processes: Run runs the
// program's body in a zone, and when processes have failed it repairs the
// communicator and runs the body again (automatic fault tolerance, CRAFT paper
// section 3).
//
//	err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
//		cp, err := checkpoint.New("solver", z.Comm())
//		...
//		if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
//			return err
//		}
//		for ; iter < n; iter++ {
//			z.Step(iter)
//			if err := step(ctx, z.Comm(), v); err != nil {
//				return err // a failure comes back as an error
//			}
//			if err := cp.UpdateAndWrite(ctx, iter, 10); err != nil {
//				return err
//			}
//		}
//		return nil
//	})
//
// # Terms
//
// A body is the function that Run is given, an attempt is one call of it. Failure
// means that a process of the communicator is gone, or that the communicator was
// revoked. An own error is one that a body returns while no failure is known.
// Recovery is what leads from a failure to the next attempt; the epoch counts the
// repairs of the job. A replacement is a process that was started in the place of
// one that failed; it has the same original rank.
//
// # An attempt and its end
//
//	rank 0   body ------- nil, waits ------------------.        .-- body again
//	rank 1   body -- comm.ErrProcFailed, revokes --.   |        |
//	rank 2   body --X killed                       |   |  agree | repair
//	rank 3   body ---- computes ... context ends --'---'--------'-- body again
//	rank 2'                                   (replacement) ------- body
//
// All ranks agree on how their bodies have ended. If a process has failed, all
// repair and begin again, also those that had finished: what the body returns
// while a failure is pending does not matter. If none has failed and a body has
// returned an error, Run returns it on all ranks; nothing is repaired. Otherwise
// Run returns nil on all.
//
// Whoever knows of the failure first revokes the communicator, so that nobody
// waits for a rank that has left. The context of the body ends at that moment
// with ErrRecovering as its cause (with WithCancelOnFailure: as soon as the
// process knows of any failure). When nobody needs who has failed, the zones of the
// survivors revoke it after CRAFT_RECOVERY_DELAY or WithRecoveryDelay.
//
// At the end of an attempt, before anything is agreed on: the context ends; goroutines
// that were started with Zone.Go are waited for; the functions given to Zone.Cleanup
// run, the latest first; what was registered with Session.OnRepair is closed.
// Checkpoints are: an asynchronous copy is published within CRAFT_DRAIN_TIMEOUT. So
// when a body begins again, nothing of the attempt before is under way on any rank.
//
// # Who recovers how
//
// CRAFT_COMM_RECOVERY_POLICY or WithRecovery: NON-SHRINKING replaces the lost
// processes, each with the rank of the one whose place it takes; SHRINKING goes
// on with fewer ranks; GLOBAL-RESTART revokes and replaces at the moment of the
// detection, and replaces a process whose body does not end within
// CRAFT_RECOVERY_GRACE as well (package reinit has it under the names of the
// Reinit++ paper); ABORT ends the job, which craft run --restarts deploys again.
// CRAFT_COMM_SPAWN_POLICY or WithSpawn says where replacements run. With
// WithSynchronous bodies ask Zone.FaultDetected and end where they may be left.
// Programs that keep their data through a failure call Zone.Repair instead of
// returning.
//
// # What ends a job
//
// A failure that comes back again and again without progress (Zone.Step) ends the job with a
// report. A body that neither communicates nor looks at its context is waited for, and its process
// killed after the launcher's repair timeout (craft run --repair-timeout); with GLOBAL-RESTART after
// the grace, and where ranks are goroutines the job then ends with ErrStuck. A panic is not recovered:
// it is the end of that process, and with ranks that are goroutines, of the program. A body that
// calls runtime.Goexit ends its process too; with ranks that are goroutines that of Run's caller,
// or by a panic the program if that is main's.
//
// # The end of a process
//
// Run leaves the process in the job, for further zones. A process that exits with
// code 0 after its last zone (whose end all ranks had agreed on) has left the
// job; in any other way, or while a zone runs, it has failed.
package aft
