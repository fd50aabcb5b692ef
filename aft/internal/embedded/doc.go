// Package embedded is the engine that needs nothing installed: the ranks of a
// job, and the messages between them, in pure Go. The ranks are processes that a
// launcher has started (Join), or goroutines of one process (Run, RunInproc).
//
// # Terms
//
// An endpoint is one process of a job as its own code sees it. For each
// communicator that it is in, it has a mailbox, in which messages that arrive
// meet the receives that have been posted. The matcher inside is a data structure
// without locks, goroutines or sockets, so that every transport can use it.
//
//	sender                      mailbox of the receiver
//	Isend ----- message ----->  [ posted receives ]    a match: copied at once,
//	                            [ waiting messages ]   else the message waits
//	                                    ^
//	            receiver, Irecv --------+
//
// A message of up to 64 KiB is eager: if no receive is posted, the mailbox takes
// a copy and the send is complete. What is buffered is bounded; above the bound,
// and for longer messages, only the announcement travels, and the data goes
// straight from the sender's slice, or from several (Isendv), to the receiver's (rendezvous).
//
// Between processes a wire carries the messages: one byte stream for each ordered
// pair that talks, made when it is first needed (package pipe). Between goroutines
// of one process the sender itself puts the message into the mailbox.
//
// # Control plane
//
// What concerns all (who has failed, revoke, agree, shrink, spawn, repair) is
// decided by the root of the job (package control). An endpoint sends its part
// upwards and waits for the one outcome. In one process (inproc.go) the same root and
// a daemon are called directly.
//
// # Failures
//
// The detector never lies: a broken connection is only a suspicion, told to the
// root, which ends the suspect before it says that it has failed. Until then
// operations that need it wait, so no two processes see it differently. When the
// root says that a process has failed, first everything that has arrived from it
// is delivered, then operations that need it fail with driver.ErrProcFailed, in all
// communicators. A receive from any source fails for each failure that has not
// been acknowledged; nothing is lost by that: it can be posted again.
//
// A process loses its lease when its daemon is silent for too long; then, and when
// its daemon ends, it kills itself, because another one may be in its place.
//
// # Invariants
//
//   - Messages of one sender are matched in the order they were sent.
//   - Whoever takes a message and a receive out of the matcher copies the data
//     and completes both, or has them completed by the wire; until then neither
//     can be withdrawn.
//   - An endpoint's lock is the innermost one: neither wire nor control plane is
//     called under it, and no operation holds two of them.
//   - Messages between goroutines of one process need no goroutine but those that
//     run the bodies of the ranks.
//
// # The end of a rank
//
// When a rank has left (its body has returned, or its last zone has ended and its
// process exits), messages that it sent can still be received. An operation that
// needs more of it fails with driver.ErrProcFailed: a send to it, a receive from it
// that no message meets, and, when a rank is the last one left, waiting for a
// receive from any source.
package embedded
