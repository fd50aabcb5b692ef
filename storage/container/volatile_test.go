package container

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// restless changes a value whenever something is written.
type restless struct {
	bytes.Buffer

	value []byte
}

func (w *restless) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	for i := range w.value {
		w.value[i]++
	}
	return n, err
}

// Of a value that changes meanwhile the same bytes are compared, checksummed and
// stored, so that nothing is damaged, and no later version refers to bytes that are
// not there.
func TestVolatile(t *testing.T) {
	rng := testseed.Rand(t)
	for _, compression := range []Compression{Off, Always} {
		for _, pieces := range []int{1, 3, 100} {
			y := newHistory(t, Options{ChunkSize: 256 << 10, Workers: 1, Compression: compression})
			value := make([]byte, 1<<20+7)
			for half := range slices.Chunk(value, 64<<10) { // can be compressed, and takes several writes
				for i := range len(half) / 2 {
					half[i] = byte(rng.Uint32())
				}
			}
			before := slices.Clone(value)
			s := Section{Key: "v", Desc: Desc{Elem: Uint8, Shape: []int64{int64(len(value))}}, Volatile: true}
			s.Spans = slices.Collect(slices.Chunk(value, (len(value)+pieces-1)/pieces))

			y.h.Version++
			w := &restless{value: value}
			_, err := y.e.EncodeDelta(context.Background(), w, y.h, []Section{s}, y.d, 0)
			require.NoError(t, err)
			require.NotEqual(t, before, value)
			require.NotEqual(t, Digest([][]byte{before}, 256<<10), y.e.AppendDigests(nil)[0], "the change is seen")
			y.d.Keep(y.h.Version, allPromises)
			y.files[y.h.Version] = w.Bytes()
			require.NoError(t, y.open(y.h.Version).Verify(context.Background()))

			copy(value, before)
			y.requireRead(y.keep(0, s), map[string][]byte{"v": before})
		}
	}
}
