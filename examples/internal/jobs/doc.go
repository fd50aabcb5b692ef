// Package jobs is what the examples have in common beside what they show: their
// flags, the start of ranks as processes, how a job dies to try it out, what a rank
// remembers from attempt to attempt, and what checkpoints have cost.
//
// # A program
//
// One that computes step after step, and writes a checkpoint every few of them, is made
// from a Loop, which has its flags, a Job, which is this process's part of it, and a Rank.
// examples/cg is one. What makes it survive failures stands in its own body, and nothing
// of it is here:
//
//	func main() {
//		if code, ok := launch.Daemon(); ok {             // of a node, with -np
//			os.Exit(code)
//		}
//		checkpoint.OnSignal(context.Background())        // signals ask the job to end
//		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
//	}
//
//	func run(args []string, stdout, stderr io.Writer) int {
//		cfg, err := parseFlags(args, stderr)             // a struct around Loop: Register, Parse, Check
//		if err != nil {
//			return cfg.WrongUsage(err, stderr)
//		}
//		job := jobs.NewJob(cfg.Loop, stderr)
//		if code, started := job.Launch(); started {      // -np: the ranks were other processes
//			return code
//		}
//		err = aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
//			return cfg.solve(ctx, z, job.Rank(z))
//		}, job.ZoneOptions()...)
//		return job.End(err, stdout)
//	}
//
//	func (c config) solve(ctx context.Context, z *aft.Zone, rank *jobs.Rank) error {
//		cp, err := checkpoint.New("name", z.Comm(), rank.CheckpointOptions(problem)...)
//		...
//		defer rank.Close(cp)
//		cp.Add(...)
//		err = cp.Commit()
//		err = cp.RestartIfNeeded(ctx, &iter)             // jobs.Explain
//		err = rank.Begin(ctx, cp, iter)                  // says where it goes on
//		for ; iter < c.Iterations; iter++ {
//			...                                          // the step
//			z.Step(iter)
//			err = rank.Done(ctx, iter)                   // may be its death: -kill
//			err = rank.Tolerate(ctx, iter, cp.UpdateAndWrite(ctx, iter, c.Frequency))
//		}
//		err = rank.Tolerate(ctx, iter, cp.Finish(ctx, iter-1))
//		common, err := rank.Result(ctx, iter, digest)
//		rank.Finish(&result{Result: common, ...})        // which job.End prints
//	}
//
// A job that is asked to end gets checkpoint.ErrDeadline from its calls, which Tolerate does not
// tolerate; job.End says what it has left, and returns checkpoint.ExitCode.
//
// A problem whose size is so much for each rank takes the number of ranks from Rank.AtStart,
// so that it stays what it is when the job shrinks, and has its name by Job.Name. Ranks that are
// processes are killed at any moment by killtest.Ranks.
//
// Who measures asks for notes of when the parts of each attempt begin and end, with the variable of package
// timeline: then ranks meet before each part (internal/bench/approaches).
//
// What is printed is a struct around Result; with -json its fields and these are one object:
//
//	iterations        that the result has behind it
//	restarted_from    first iteration after a restart of the job (not after a
//	                  recovery within it), or -1
//	recoveries        repairs in this run
//	ranks             that were there at the end
//	versions_written  checkpoints of this run
//	levels            which versions are kept where, if not all in the directory
//	seconds           of the run
//	digest            SHA-256 of the result
//	bytes_written     by checkpoints, sum over ranks
//	overheads         seconds, the largest of any rank: cp waited for checkpoints,
//	                  res reading one, rec repairing the communicator, redo
//	                  doing again what had been done before
//	async             the mode: off, copy or zero-copy
//	writer_cpu        processor time of the background writers in seconds
//	overhead_percent  100 * (cp + writer_cpu/cores) / seconds
package jobs
