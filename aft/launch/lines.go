package launch

import "bytes"

const (
	// maxLine is the length of a line from which on it goes in pieces.
	maxLine = 16 << 10
	// maxOutput is how much one message carries.
	maxOutput = 32 << 10
)

// lines cuts a stream into whole lines.
type lines struct {
	buf []byte // what has not been handed on
}

// write takes data and calls emit for whole lines, as many as have arrived, and
// for the pieces of a line that is too long. emit must not keep its argument.
func (l *lines) write(data []byte, emit func([]byte)) {
	l.buf = append(l.buf, data...)
	rest := l.buf
	for len(rest) > 0 {
		n := wholeLines(rest)
		if n == 0 {
			break
		}
		emit(rest[:n])
		rest = rest[n:]
	}
	l.buf = append(l.buf[:0], rest...)
}

// end hands on an unfinished last line, which it completes.
func (l *lines) end(emit func([]byte)) {
	if len(l.buf) > 0 {
		emit(append(l.buf, '\n'))
		l.buf = nil
	}
}

// wholeLines is how much of the start of b is to be handed on now.
func wholeLines(b []byte) int {
	if last := bytes.LastIndexByte(b[:min(len(b), maxOutput)], '\n'); last >= 0 {
		return last + 1
	}
	if len(b) >= maxLine {
		return maxLine
	}
	return 0
}
