// Package single is the engine of a process that is a job of its own: a communicator of one
// rank, which can send to itself, and its session. It never sees a failure, and cannot
// start processes.
package single
