// Package async is what a checkpoint needs to write in the background (paper
// section 2.3): memory for a private copy of the values, threads that write, and
// the waiting for them. It knows nothing of files and values.
//
//   - Staging is bounded memory that a snapshot is copied to and written from,
//     piece by piece and in order. It is kept from version to version. When it
//     is full, the copying waits for the writing: memory stays bounded and the
//     two run at the speed of the slower one.
//   - Writer runs one job at a time; whoever starts it gets a Ticket to wait on.
//   - Threads gives background work OS threads of its own, which may be bound to
//     chosen processors, and adds up the processor time that it takes.
//
// # Invariants
//
//   - After Close of a Writer none of its goroutines runs, unless the error says
//     that one hangs in the operating system; after Free of a Staging its memory
//     is back at the operating system.
//   - A piece's memory is not used again before it was released.
//   - No wait outlasts its context; the writing side never waits for a copying
//     side that has given up, nor the other way round.
package async
