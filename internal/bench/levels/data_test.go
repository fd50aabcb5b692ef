package levels

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// chunk is what a change of values is counted in: the chunks of CRAFT_DELTA=1.
const chunk = 256 << 10

// data are the values of a rank. Nothing in them can be compressed.
type data struct {
	words []uint64
	rng   *rand.Rand
}

func newData(bytes int64, seed uint64) *data {
	d := &data{words: make([]uint64, bytes/8), rng: rand.New(rand.NewPCG(seed, 0))}
	for i := range d.words {
		d.words[i] = d.rng.Uint64()
	}
	return d
}

// touch changes a word in so many percent of the chunks, in one at least.
func (d *data) touch(percent float64) {
	const each = chunk / 8
	chunks := (len(d.words) + each - 1) / each
	n := max(1, int(percent*float64(chunks)/100+0.5))
	for _, c := range d.rng.Perm(chunks)[:n] {
		d.words[c*each] = d.rng.Uint64()
	}
}

// bytes makes so many bytes for plain files out of the values.
func (d *data) bytes(n int64) []byte {
	out := make([]byte, 0, n+8)
	for int64(len(out)) < n {
		for _, w := range d.words[:min(int64(len(d.words)), (n-int64(len(out))+7)/8)] {
			out = binary.LittleEndian.AppendUint64(out, w)
		}
	}
	return out[:n]
}

// scramble is what a process that starts anew has: nothing of it. The function
// that it returns reports whether all is as it was.
func (d *data) scramble() (restored func() bool) {
	want := slices.Clone(d.words)
	clear(d.words)
	return func() bool { return slices.Equal(d.words, want) }
}
