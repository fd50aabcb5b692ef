package container

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deltaNames are golden files of format 1.1: versions 3 to 5, each of which
// refers to those before it.
var deltaNames = []string{"delta-3", "delta-4", "delta-5"}

func TestGoldenFilesWithReferences(t *testing.T) {
	noise := make([]byte, 5200)
	x := uint32(1)
	for i := range noise {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	text := bytes.Repeat([]byte("compressible "), 640)
	e, d := newTestEncoder(t, Options{ChunkSize: minChunkSize, Compression: Always}), NewDelta()
	h := Header{
		Name: "cp", Version: 3, Iteration: 7, Size: 1, Created: time.Unix(1700000000, 123456789).UTC(),
		Attempt: AttemptID{0xa0, 1, 2, 3, 4, 5, 6, 7}, Lineage: LineageID{0xb0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
		Level: 2,
	}
	for i, name := range deltaNames {
		h.Version, h.Flush = uint64(3+i), i == 2
		var file bytes.Buffer
		_, err := e.EncodeDelta(t.Context(), &file, h, []Section{
			spanSection("noise", noise),
			{Key: "text", Desc: Desc{Elem: String, Shape: []int64{int64(len(text))}, Type: "string"}, Spans: [][]byte{text}},
			{Key: "n", Desc: Desc{Elem: Int32, Type: "int32"}, Spans: [][]byte{{byte(i), 0, 0, 0}}},
		}, d, 0b111)
		require.NoError(t, err)
		d.Keep(h.Version, allPromises)
		if *update {
			require.NoError(t, os.WriteFile(goldenName(name), file.Bytes(), 0o600))
		}
		want, err := os.ReadFile(goldenName(name))
		require.NoError(t, err)
		require.Equal(t, want, file.Bytes(), "the format has changed: files of earlier versions must stay readable")

		r := openGolden(t, name)
		require.NoError(t, r.Verify(t.Context()))
		require.NoError(t, r.VerifyReferences(t.Context()))
		require.Equal(t, [][]uint64{{}, {3}, {3, 4}}[i], r.Refs())
		if i > 0 {
			h.Oldest = 3
		}
		require.Equal(t, h, r.Header())
		got, err := readAll(sectionOf(t, r, "text"))
		require.NoError(t, err)
		require.Equal(t, text, got)
		text[5000*(1-i&1)]++
	}
}

// openGolden opens a golden file and those that it refers to.
func openGolden(t testing.TB, name string) *Reader {
	data, err := os.ReadFile(goldenName(name))
	require.NoError(t, err)
	r := openFile(t, data)
	r.ResolveBy(func(version uint64) (*Reader, error) {
		data, err := os.ReadFile(goldenName(deltaNames[version-3]))
		require.NoError(t, err)
		return openFile(t, data), nil
	})
	return r
}
