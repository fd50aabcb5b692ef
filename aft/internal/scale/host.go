package scale

import "time"

// host is a processor and the two directions of a link, each of which does one thing after the
// other, in the order of the calls.
type host struct {
	model        *Model
	cpu, out, in time.Time // until when it is busy
	busy         time.Duration
	messagesIn   int
	messagesOut  int
	bytesIn      int
	bytesOut     int
	introduction int           // of these, see Result
	signs        int           // of life, in and out
	longestQueue time.Duration // of what waits for the link
}

// compute takes the processor for d, from at on, and returns when that is over.
func (h *host) compute(at time.Time, d time.Duration) time.Time {
	h.cpu = later(h.cpu, at).Add(d)
	h.busy += d
	return h.cpu
}

// transmit takes the link for bytes that are there at a time, and returns when the last one has left.
func (h *host) transmit(at time.Time, bytes int) time.Time {
	h.out = later(h.out, at).Add(perByte(1e9/h.model.Bandwidth, bytes))
	h.longestQueue = max(h.longestQueue, h.out.Sub(at))
	return h.out
}

// receive takes the link for bytes that arrive from at on.
func (h *host) receive(at time.Time, bytes int) time.Time {
	h.in = later(h.in, at).Add(perByte(1e9/h.model.Bandwidth, bytes))
	return h.in
}

// taking is what a message needs at its receiver.
func (m *Model) taking(bytes int) time.Duration { return m.Receive + perByte(m.Decode, bytes) }

func perByte(ns float64, bytes int) time.Duration { return time.Duration(ns * float64(bytes)) }

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
