// Package embedded is the engine that needs nothing installed: the ranks of a
// job, and the messages between them, in pure Go. Here the ranks are goroutines
// of one process (Run).
//
// # Terms
//
// Each rank has a mailbox, in which messages that arrive meet the receives that
// the rank has posted. The matcher inside is a data structure without locks,
// goroutines or sockets, so that every transport can use it.
//
//	sender                      mailbox of the receiver
//	Isend ----- message ----->  [ posted receives ]    a match: copied at once,
//	                            [ waiting messages ]   else the message waits
//	                                    ^
//	            receiver, Irecv --------+
//
// A message of up to 64 KiB is eager: if no receive is posted, the mailbox takes
// a copy and the send is complete. What a mailbox buffers is bounded; above the
// bound, and for longer messages, the send completes when the receiver has
// copied the data straight from the sender's slice (rendezvous).
//
// # Invariants
//
//   - Messages of one sender are matched in the order they were sent.
//   - Whoever takes a message and a receive out of the matcher copies the data
//     and completes both; until then neither can be withdrawn.
//   - A rank's mailbox is the only lock of an operation, and no lock is held
//     while another is taken.
//   - No goroutine exists but those that run the bodies of the ranks.
//
// # The end of a rank
//
// When a rank's body has returned, messages that it sent can still be received.
// An operation that needs more of it fails with comm.ErrProcFailed: a send to it,
// a receive from it that no message meets, and, when a rank is the last one left,
// waiting for a receive from any source.
package embedded
