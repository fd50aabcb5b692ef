// Package driver is what an engine implements, and all that it needs to know: ranks and
// tags are ints, messages are bytes, recovery steps are started and waited for. Programs
// see none of it: package comm puts typed ranks, options, collectives and checks on top
// (comm.New), once for all engines. The suite of engines is comm/commtest.
//
//	Comm, Request                       every communicator
//	Taker                               messages that are used where they arrive
//	Vectored                            messages from several pieces of memory
//	Failing, Revoker, Agreer, Maker     what survives failures (the base operations of ULFM)
//	Freer                               gives its resources back
//	Located                             which ranks share a node
//	Session                             a process's part in a job that is repaired (package aft)
//
// # What package comm has checked before
//
// A destination is a rank of the communicator, a source too or AnySource; a tag that is sent
// is not AnyTag. Tags from -2 down to EngineTag are those of collectives; what is below is
// the engine's own.
//
// # What an engine promises
//
// Messages from one rank to another with matching tags arrive in the order they were sent.
// Nothing blocks for ever because of a failure: it succeeds, or returns a FailedError. After a
// Revoke every operation of the communicator, those under way included, ends with ErrRevoked,
// but agreements, shrinks and what is local.
//
// What is collective is so over the processes that are alive: each takes part once, in the
// same order, and gets the same answer, whatever fails meanwhile.
package driver
