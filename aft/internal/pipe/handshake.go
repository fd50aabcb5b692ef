package pipe

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

const (
	magic         = "craftpip"
	version       = 1
	nonceSize     = 32
	helloSize     = len(magic) + 2 + 2 + 4 + 4 + 4 + nonceSize
	challengeSize = nonceSize + sha256.Size
	proofSize     = sha256.Size
)

// The verdicts: what the bytes will go through. They differ from what the reader
// sends later, because it may be told to go before the verdict is sent.
const (
	overSocket byte = 0x11
	overRing   byte = 0x12
)

// hello is the dialler's first message.
type hello struct {
	from, to uint32
	ring     uint32 // bytes; 0: none
	nonce    [nonceSize]byte
}

func (h hello) encode() []byte {
	b := make([]byte, 0, helloSize)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint32(b, h.from)
	b = binary.LittleEndian.AppendUint32(b, h.to)
	b = binary.LittleEndian.AppendUint32(b, h.ring)
	return append(b, h.nonce[:]...)
}

func decodeHello(b []byte) (h hello, err error) {
	if len(b) != helloSize || !bytes.HasPrefix(b, []byte(magic)) {
		return h, fmt.Errorf("%w: it speaks another protocol", ErrRefused)
	}
	b = b[len(magic):]
	if v := binary.LittleEndian.Uint16(b); v != version {
		return h, fmt.Errorf("%w: version %d of the protocol, here it is %d", ErrRefused, v, version)
	}
	if flags := binary.LittleEndian.Uint16(b[2:]); flags != 0 {
		return h, fmt.Errorf("%w: unknown flags %#x", ErrRefused, flags)
	}
	h.from = binary.LittleEndian.Uint32(b[4:])
	h.to = binary.LittleEndian.Uint32(b[8:])
	h.ring = binary.LittleEndian.Uint32(b[12:])
	if h.ring != 0 && (h.ring < minRing || h.ring > maxRing || h.ring&(h.ring-1) != 0) {
		return h, fmt.Errorf("%w: a ring of %d bytes", ErrRefused, h.ring)
	}
	copy(h.nonce[:], b[16:])
	return h, nil
}

// proof is what only a process with the secret can know, for one role in one
// connection: the parts are of fixed length, but for the job's name, which comes
// last.
func (c Config) proof(role string, parts ...[]byte) []byte {
	m := hmac.New(sha256.New, c.Secret)
	m.Write([]byte{byte(len(role))})
	m.Write([]byte(role))
	for _, p := range parts {
		m.Write(p)
	}
	m.Write([]byte(c.Job))
	return m.Sum(nil)
}

// challenge answers a hello.
func (c Config) challenge(hello []byte) []byte {
	b := make([]byte, nonceSize, challengeSize)
	_, _ = rand.Read(b) // never fails
	return append(b, c.proof("listen", hello, b)...)
}

// checkProof reports whether the other side knows the secret, by its proof for its role.
func (c Config) checkProof(proof []byte, role string, parts ...[]byte) error {
	if !hmac.Equal(proof, c.proof(role, parts...)) {
		return fmt.Errorf("%w: its proof is wrong", ErrRefused)
	}
	return nil
}
