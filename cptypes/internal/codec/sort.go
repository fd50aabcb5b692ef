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
