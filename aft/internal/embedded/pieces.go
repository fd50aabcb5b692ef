package embedded

import "slices"

// pieces is the data of a message: one slice, or several in a row. The first is empty only
// if all are.
type pieces struct {
	first []byte
	rest  [][]byte
}

func newPieces(list [][]byte) pieces {
	p := pieces{rest: list}
	p.skip(0)
	return p
}

func (p pieces) length() int {
	n := len(p.first)
	for _, b := range p.rest {
		n += len(b)
	}
	return n
}

// skip leaves the first n bytes out.
func (p *pieces) skip(n int) {
	for n >= len(p.first) && len(p.rest) > 0 {
		n -= len(p.first)
		p.first, p.rest = p.rest[0], p.rest[1:]
	}
	p.first = p.first[n:]
}

// cut takes up to n bytes out: a part of the first piece, or whole ones.
func (p *pieces) cut(n int) pieces {
	if len(p.first) > n {
		of := pieces{first: p.first[:n]}
		p.first = p.first[n:]
		return of
	}
	whole := 0
	for n -= len(p.first); whole < len(p.rest) && len(p.rest[whole]) <= n; whole++ {
		n -= len(p.rest[whole])
	}
	of := pieces{p.first, p.rest[:whole]}
	*p = newPieces(p.rest[whole:])
	return of
}

func (p pieces) appendTo(b []byte) []byte {
	b = append(b, p.first...)
	for _, q := range p.rest {
		b = append(b, q...)
	}
	return b
}

// clone is a copy in one piece.
func (p pieces) clone() pieces {
	return pieces{first: p.appendTo(slices.Grow([]byte(nil), p.length()))}
}
