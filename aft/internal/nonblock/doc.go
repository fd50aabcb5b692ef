// Package nonblock reads and writes descriptors that never block, without a word to Go's scheduler.
//
// A system call tells it that this thread may be away for long. In a process that slept, as ranks and daemons do most of the
// time, that wakes the thread which watches over the others; it looks around every 20 us for a while, and sleeps again. For a
// message of some bytes that costs more than the message.
package nonblock
