package container

import "iter"

// memory is a part of a value's memory: n bytes from offset skip of the
// first span on.
type memory struct {
	spans [][]byte
	skip  int
	n     int
}

// single makes memory of one slice and backs it, so that nothing is allocated.
type single [1][]byte

func (s *single) memory(p []byte) memory {
	s[0] = p
	return memory{s[:], 0, len(p)}
}

// pieces yields the contiguous parts, none of them empty.
func (m memory) pieces() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		skip, left := m.skip, m.n
		for i := 0; left > 0; i++ {
			p := m.spans[i][skip:]
			skip = 0
			if len(p) > left {
				p = p[:left]
			}
			if len(p) == 0 {
				continue
			}
			left -= len(p)
			if !yield(p) {
				return
			}
		}
	}
}

// contiguous returns the bytes if they are in one piece.
func (m memory) contiguous() ([]byte, bool) {
	if m.n == 0 {
		return nil, true
	}
	if len(m.spans) > 0 && len(m.spans[0])-m.skip >= m.n {
		return m.spans[0][m.skip : m.skip+m.n], true
	}
	return nil, false
}

// fragmented says that the pieces are so small that it pays to copy them
// together.
func (m memory) fragmented() bool {
	return len(m.spans) > 1 && m.n/len(m.spans) < directSize
}

// gather copies the bytes to dst and returns them.
func (m memory) gather(dst []byte) []byte {
	dst = dst[:m.n]
	at := 0
	for p := range m.pieces() {
		at += copy(dst[at:], p)
	}
	return dst
}

// scatter copies src, of m.n bytes, into the memory.
func (m memory) scatter(src []byte) {
	for p := range m.pieces() {
		src = src[copy(p, src):]
	}
}

func (m memory) checksum() uint32 {
	crc := uint32(0)
	for p := range m.pieces() {
		crc = extendChecksum(crc, p)
	}
	return crc
}

// memoryCursor hands out a value's memory from its beginning to its end.
type memoryCursor struct {
	spans [][]byte
	skip  int // bytes of spans[0] handed out
}

// next returns the next n bytes, which must exist.
func (c *memoryCursor) next(n int) memory {
	start, skip, left, last := c.spans, c.skip, n, 0
	for left > 0 {
		have := len(c.spans[0]) - c.skip
		last++
		if have > left {
			c.skip += left
			break
		}
		left -= have
		c.spans, c.skip = c.spans[1:], 0
	}
	return memory{start[:last], skip, n}
}

func totalLen(spans [][]byte) int64 {
	n := int64(0)
	for _, s := range spans {
		n += int64(len(s))
	}
	return n
}
