// Package pipe carries a stream of bytes from one process to another that knows
// the same secret. It is the ground that the messages of the embedded engine go
// over.
//
// # Terms
//
// A pipe has one direction: the process that dials writes (Writer), the one that
// listens reads (Reader). It has a socket: a Unix socket between processes of one
// host, TCP between hosts. On Linux, processes of one host also share a ring, a
// piece of memory that the bytes go through; then the socket carries only bells
// (single bytes that wake a sleeper) and tells the other side's death.
//
//	Writer                                               Reader
//	TryWrite --> [ ring: tail ->  bytes  -> head ] -->   Peek, Discard, TryRead
//	         --> bell: there is data  (if the reader sleeps)  -->
//	         <-- bell: there is space (if the writer sleeps)  <--
//	         <-- end of the socket: the other side is dead    -->
//
// # Invariants
//
//   - The ring has one producer and one consumer. Each writes its own index only,
//     after the bytes are copied, and does not trust the other's: an index that is
//     out of bounds breaks the pipe, and nothing else.
//   - Who sleeps has said so in the ring and has looked once more afterwards; who
//     rings takes that word back. So a bell is never missed, and rung only once.
//   - When the writer dies, the reader gets what was published, then the end.
//     Bytes that were only being copied were never published.
//   - The memory cannot shrink (it is sealed), so that nobody can be killed by
//     touching it.
//   - No method but Run blocks. The caller allows one of them at a time, beside
//     Run, which the caller's own goroutine is in until the pipe ends.
//
// # Handshake
//
// Both sides prove that they know the job's secret, for this connection, this
// direction and these two processes, before anything else is read:
//
//	dialler  -> hello      magic, version, from, to, size of the ring, nonce
//	listener -> challenge  nonce, HMAC-SHA256(secret, "listen", job, hello, nonce)
//	dialler  -> proof      HMAC-SHA256(secret, "dial", job, hello, challenge) [+ memory]
//	listener -> verdict    one byte: socket alone, or ring
//
// Whoever cannot is dropped without a word, and when many connections are waiting,
// those that take long are. On Unix sockets the other process must also belong to
// the same user; part of their names is random, so that nobody can take one first.
package pipe
