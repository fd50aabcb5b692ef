package codec

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// parts are the keys, or the elements, of a map, encoded one behind the other.
type parts struct {
	encoder
	ends []int // part i ends at ends[i+1]
}

func (e *encoder) parts(n int) parts {
	return parts{encoder{seen: e.seen, depth: e.depth}, make([]int, 1, n+1)}
}

func (p *parts) end()               { p.ends = append(p.ends, p.n) }
func (p *parts) at(i uint64) []byte { return p.buf[p.ends[i]:p.ends[i+1]] }

func (p *parts) write(e *encoder, items []sortItem) error {
	for _, it := range items {
		if err := e.bytes(p.at(it.entry)); err != nil {
			return err
		}
	}
	return nil
}

// sorted is the order of the parts by their bytes. ties decides between equal ones.
func (p *parts) sorted(ties func(a, b uint64) int) []sortItem {
	items := make([]sortItem, len(p.ends)-1)
	order := byteOrder{parts: p, ties: ties}
	for i := range items {
		items[i].entry = uint64(i)
		order.longest = max(order.longest, len(p.at(uint64(i))))
	}
	order.sort(items, 0)
	return items
}

// byteOrder sorts by a window of 8 bytes at a time: reading the parts in random order is what
// takes the time.
type byteOrder struct {
	*parts
	ties    func(a, b uint64) int
	spare   []sortItem
	longest int // bytes of the longest part
}

// sort sorts items whose parts are equal in front of byte from.
func (s *byteOrder) sort(items []sortItem, from int) {
	if len(items) >= fewItems {
		from = s.skip(items, from)
	}
	for i := range items {
		items[i].word = window(s.at(items[i].entry), from)
	}
	s.spare = sortWords(items, s.spare)
	from += windowSize
	for begin := 0; begin < len(items); {
		end := begin + 1
		for end < len(items) && items[end].word == items[begin].word {
			end++
		}
		switch equal := items[begin:end]; {
		case len(equal) == 1:
		case len(equal) < fewItems || from >= s.longest:
			slices.SortFunc(equal, s.compare)
		default:
			s.sort(equal, from)
		}
		begin = end
	}
}

// skip returns the length of a prefix that all parts have in common, at least from.
func (s *byteOrder) skip(items []sortItem, from int) int {
	first, n := s.at(items[0].entry), s.longest
	for _, it := range items[1:] {
		if n = min(n, commonPrefix(first, s.at(it.entry))); n <= from {
			return from
		}
	}
	return n
}

func (s *byteOrder) compare(a, b sortItem) int {
	if c := bytes.Compare(s.at(a.entry), s.at(b.entry)); c != 0 || s.ties == nil {
		return c
	}
	return s.ties(a.entry, b.entry)
}

// commonPrefix looks at whole windows only.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i+windowSize <= n && binary.NativeEndian.Uint64(a[i:]) == binary.NativeEndian.Uint64(b[i:]) {
		i += windowSize
	}
	return i
}

func window(b []byte, from int) uint64 {
	if len(b) >= from+windowSize {
		return binary.BigEndian.Uint64(b[from:])
	}
	var w uint64
	for i := from; i < from+windowSize; i++ {
		w <<= 8
		if i < len(b) {
			w |= uint64(b[i])
		}
	}
	return w
}
