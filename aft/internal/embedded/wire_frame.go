package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/craft-go/craft/aft/internal/control"
)

// frameSize is the length of a frame's head. All frames have the same, so that
// there is one decoder; bytes that a kind does not use are zero.
//
//	0 kind | 1 0 0 0 | 4 source | 8 comm | 16 tag | 24 length | 32 send | 40 recv
const frameSize = 48

const (
	// wireEager is the length in bytes up to which a message travels without
	// being asked for.
	wireEager = eagerLimit
	// wireWindow is how many eager bytes a process may send to another before
	// they have left the receiver's buffers, each message at its eagerPrice.
	wireWindow = 1 << 20
	// wirePiece is the most data in one frame, so that other messages get their
	// turn between the pieces of a long one.
	wirePiece = 256 << 10
)

type frameKind uint8

const (
	frameEager  frameKind = 1 + iota // a message: comm, source, tag, length; data follows
	frameRTS                         // a message is announced: comm, source, tag, length, send
	frameCTS                         // it may be sent: send, recv, length (0: it does not fit, none of it)
	frameData                        // a piece of it: recv, length; data follows
	frameCancel                      // the sender takes an announced message back: send
	frameNack                        // the sender had taken it back before the CTS came: recv
	frameCredit                      // eager bytes have left the buffers: length
	frameBye                         // the last frame: the process goes
)

// frame is what both sides say to each other. send and recv number the sender's
// and the receiver's part of a message, from 1, in this direction.
type frame struct {
	kind       frameKind
	source     int
	comm       control.CommID
	tag        int
	length     int
	send, recv uint64
}

var errFrame = errors.New("not a message of this protocol")

func (f *frame) encode(b *[frameSize]byte) []byte {
	binary.LittleEndian.PutUint32(b[0:], uint32(f.kind))
	binary.LittleEndian.PutUint32(b[4:], uint32(f.source))
	binary.LittleEndian.PutUint64(b[8:], uint64(f.comm))
	binary.LittleEndian.PutUint64(b[16:], uint64(f.tag))
	binary.LittleEndian.PutUint64(b[24:], uint64(f.length))
	binary.LittleEndian.PutUint64(b[32:], f.send)
	binary.LittleEndian.PutUint64(b[40:], f.recv)
	return b[:]
}

// decodeFrame reads a head of frameSize bytes.
func decodeFrame(b []byte) (f frame, err error) {
	kind := binary.LittleEndian.Uint32(b[0:])
	source := binary.LittleEndian.Uint32(b[4:])
	length := binary.LittleEndian.Uint64(b[24:])
	if kind > math.MaxUint8 || source > math.MaxInt32 || length > math.MaxInt {
		return f, fmt.Errorf("%w: kind %d, source %d, length %d", errFrame, kind, source, length)
	}
	f = frame{
		kind:   frameKind(kind),
		source: int(source),
		comm:   control.CommID(binary.LittleEndian.Uint64(b[8:])),
		tag:    int(binary.LittleEndian.Uint64(b[16:])),
		length: int(length),
		send:   binary.LittleEndian.Uint64(b[32:]),
		recv:   binary.LittleEndian.Uint64(b[40:]),
	}
	if !f.valid() {
		return f, fmt.Errorf("%w: %+v", errFrame, f)
	}
	return f, nil
}

// valid reports whether the frame has what its kind needs, and nothing else.
func (f *frame) valid() bool {
	want := frame{kind: f.kind}
	ok := false
	switch f.kind {
	case frameEager:
		want.comm, want.source, want.tag, want.length = f.comm, f.source, f.tag, f.length
		ok = f.length <= wireEager
	case frameRTS:
		want.comm, want.source, want.tag, want.length, want.send = f.comm, f.source, f.tag, f.length, f.send
		ok = f.send > 0
	case frameCTS:
		want.send, want.recv, want.length = f.send, f.recv, f.length
		ok = f.send > 0 && f.recv > 0
	case frameData:
		want.recv, want.length = f.recv, f.length
		ok = f.recv > 0 && f.length <= wirePiece
	case frameCancel:
		want.send = f.send
		ok = f.send > 0
	case frameNack:
		want.recv = f.recv
		ok = f.recv > 0
	case frameCredit:
		want.length = f.length
		ok = f.length > 0 && f.length <= wireWindow
	case frameBye:
		ok = true
	}
	return ok && want == *f
}

// eagerPrice is what an eager message counts against its sender's credit.
func eagerPrice(length int) int { return max(length, eagerCost) }
