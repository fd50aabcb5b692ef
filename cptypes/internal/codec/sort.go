package codec

import (
	"cmp"
	"slices"
)

// sortItem stands for an entry of a map that is to be written. word holds 8 bytes
// of its encoded key, the first one in the highest bits.
type sortItem struct {
	word  uint64
	entry uint64 // index of the entry, or its element
}

const (
	fewItems   = 256 // below, comparing beats counting
	windowSize = 8   // bytes of a key in a word
)

// byteOrder sorts entries by the bytes of their encoded keys, a window of 8
// bytes at a time: reading the keys in random order is what takes the time.
type byteOrder struct {
	spare   []sortItem
	window  func(entry uint64, from int) uint64 // bytes [from, from+8) of the key; zeros behind its end
	common  func(a, b uint64) int               // length of a prefix that the keys have in common
	compare func(a, b uint64) int               // of whole keys
	longest int                                 // bytes of the longest key
}

// sort sorts items whose keys are equal in front of byte from.
func (s *byteOrder) sort(items []sortItem, from int) {
	if len(items) >= fewItems {
		from = s.skip(items, from)
	}
	for i := range items {
		items[i].word = s.window(items[i].entry, from)
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
			slices.SortFunc(equal, func(a, b sortItem) int { return s.compare(a.entry, b.entry) })
		default:
			s.sort(equal, from)
		}
		begin = end
	}
}

// skip returns the length of a prefix that all keys have in common, at least from.
func (s *byteOrder) skip(items []sortItem, from int) int {
	first, n := items[0].entry, s.longest
	for _, it := range items[1:] {
		if n = min(n, s.common(first, it.entry)); n <= from {
			return from
		}
	}
	return n
}

// sortWords sorts by word alone. Bytes that are the same in all words cost
// nothing. It returns spare, which it may have enlarged, for the next call.
func sortWords(items, spare []sortItem) []sortItem {
	if len(items) < fewItems {
		slices.SortFunc(items, func(a, b sortItem) int { return cmp.Compare(a.word, b.word) })
		return spare
	}
	if len(spare) < len(items) {
		spare = make([]sortItem, len(items))
	}
	differ := uint64(0)
	for _, it := range items {
		differ |= it.word ^ items[0].word
	}
	// The 4 highest bytes that differ tell nearly all words apart.
	digits, lowest := make([]int, 0, 4), 0
	for shift := 56; shift >= 0 && len(digits) < 4; shift -= 8 {
		if byte(differ>>shift) != 0 {
			digits, lowest = append(digits, shift), shift
		}
	}
	slices.Reverse(digits)
	sortDigits(items, spare, digits)
	if differ&(1<<lowest-1) == 0 {
		return spare
	}
	for begin := 0; begin < len(items); {
		end := begin + 1
		for end < len(items) && items[end].word>>lowest == items[begin].word>>lowest {
			end++
		}
		if end-begin > 1 {
			spare = sortWords(items[begin:end], spare)
		}
		begin = end
	}
	return spare
}

// sortDigits sorts by some bytes of the words, the least significant one first
// (radix sort).
func sortDigits(items, spare []sortItem, shifts []int) {
	from, to := items, spare[:len(items)]
	for _, shift := range shifts {
		var at [256]int
		for _, it := range from {
			at[byte(it.word>>shift)]++
		}
		sum := 0
		for i, n := range at {
			at[i] = sum
			sum += n
		}
		for _, it := range from {
			b := byte(it.word >> shift)
			to[at[b]] = it
			at[b]++
		}
		from, to = to, from
	}
	if len(shifts)%2 == 1 {
		copy(items, from)
	}
}
