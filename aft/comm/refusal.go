package comm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A notice is a message that takes the place of data: it announces a length, or
// refuses, when a rank cannot take part because lengths differ. It is told from
// data by its length and a prefix that no data starts with by chance.
//
//	bytes 0..15   prefix
//	bytes 16..23  smallest length known to the sender, -1: refusal
//	bytes 24..31  largest length known to the sender
const noticeSize = 32

var noticePrefix = [16]byte{
	0xc7, 0x1d, 0x5e, 0x93, 0x0a, 0xf4, 0x68, 0xb2,
	0x3b, 0xe1, 0x97, 0x4c, 0xd8, 0x26, 0x7f, 0xa5,
}

// lengths is what a rank knows about the lengths that the others gave.
type lengths struct{ min, max int }

var refusal = lengths{-1, -1}

func (l lengths) differ() bool { return l.min < 0 || l.min != l.max }

func (l lengths) join(o lengths) lengths {
	return lengths{min(l.min, o.min), max(l.max, o.max)}
}

// notice is the message for l.
func (l lengths) notice() []byte {
	b := make([]byte, noticeSize)
	copy(b, noticePrefix[:])
	binary.LittleEndian.PutUint64(b[16:], uint64(l.min))
	binary.LittleEndian.PutUint64(b[24:], uint64(l.max))
	return b
}

// parseNotice reports whether a message is a notice.
func parseNotice(message []byte) (lengths, bool) {
	if len(message) != noticeSize || [16]byte(message[:16]) != noticePrefix {
		return lengths{}, false
	}
	return lengths{
		min: int(int64(binary.LittleEndian.Uint64(message[16:]))),
		max: int(int64(binary.LittleEndian.Uint64(message[24:]))),
	}, true
}

// isData reports whether a completed receive into buf took a message of exactly
// len(buf) bytes of data.
func isData(st Status, err error, buf []byte) bool {
	if err != nil || st.Bytes != len(buf) {
		return false
	}
	_, notice := parseNotice(buf)
	return !notice
}

func isLength(err error) bool { return errors.Is(err, ErrTruncated) }

// errDiffer is for the rank that noticed or was told.
func errDiffer() error {
	return fmt.Errorf("%w: the ranks gave different lengths, or one of them arguments that do not fit", ErrTruncated)
}

// errArgument is for a rank whose own arguments do not fit each other.
func errArgument(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrTruncated, fmt.Sprintf(format, args...))
}
