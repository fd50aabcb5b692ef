// Package engine chooses where a program's communicator comes from: the embedded
// engine if the launcher has started the process as a rank (CRAFT_ROLE), else a
// single process that is a job of its own (not if srun or mpirun has started several).
//
// A process has one session. It is joined at the first call of Join, kept for
// all zones, and never closed: the launcher takes a process that exits with code
// 0 between zones as having left the job, and any other end as a failure.
//
// Ranks that are goroutines (RunRanks) are a job of their own each time.
package engine
