// Package deadline finds out how much time a job has left, and keeps asking: limits are
// changed while jobs run, and machines are taken away.
//
// A source is what may know of an end. Each has a scope, so that it is asked once, by who is
// there once:
//
//	scope  source          what says it
//	Job    CRAFT_DEADLINE  a time, or a time left, from the start of the program
//	       Slurm           squeue, every few minutes; until it answers SLURM_JOB_END_TIME
//	       PBS             qstat, every few minutes; until it answers PBS_WALLTIME, counted
//	                       from the start of the job
//	Node   CRAFT_NOTICE    a file, a command, or the metadata service of a cloud
//
// The root of a job asks those of the job, the daemon of each node those of its node; a program
// that is alone asks all. The deadline is the earliest that any source tells of. What it is used
// for (signals, saving, ending) is the business of others: this package knows, and does nothing.
//
// Invariants:
//
//   - A time of day is turned into time left as soon as it is known, once, and counted on the
//     monotonic clock: a clock that is set while the job runs changes nothing. That a machine
//     sleeps is not noticed, other than by what is asked again and tells a new time.
//   - What cannot be asked says nothing: the last thing known stays, and a warning is logged once.
//   - Each source is asked by a goroutine of its own, with a timeout: none keeps the others
//     waiting. What hangs in the operating system (a file on a server that is gone) keeps neither
//     the others waiting nor the end of the program.
package deadline
