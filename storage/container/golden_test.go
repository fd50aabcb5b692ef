package container

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden are the files whose bytes the format promises.
func golden() map[string]struct {
	header   Header
	sections []Section
	options  Options
} {
	type file = struct {
		header   Header
		sections []Section
		options  Options
	}
	base := Header{
		Name: "cp", Version: 3, Iteration: 7, Rank: 0, Size: 1, Created: time.Unix(1700000000, 123456789).UTC(),
		Attempt: AttemptID{0xa0, 1, 2, 3, 4, 5, 6, 7}, Lineage: LineageID{0xb0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	}
	nested := base
	nested.Name, nested.Iteration, nested.Rank, nested.Size = "inner-äß", NoIteration, 2, 5
	nested.Fingerprint = []byte(`{"matrix":"graphene","n":100}`)
	nested.Ancestors = []Ancestor{{Name: "outer", Attempt: base.Attempt, Version: 12, Calls: 3}, {Name: "outermost"}}
	text := bytes.Repeat([]byte("compressible "), 700)
	split := func(rank int) func(int) bool { return func(c int) bool { return c%2 == rank } }
	noise := make([]byte, 10000)
	x := uint32(1)
	for i := range noise {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	small := Options{ChunkSize: 4096, Workers: 1, Compression: Off}
	second := base
	base.Size, second.Size, second.Rank = 1, 2, 1
	first := second
	first.Rank = 0
	fields := base
	fields.Flush = true
	fields.Fields = Fields{{3, []byte{0xca, 0xfe}}, {60000, bytes.Repeat([]byte("unknown "), 600)}, {math.MaxUint16, []byte{1}}}
	table := Desc{Elem: Uint8, Shape: []int64{10000}, Dist: Replicated, Type: "[]uint8"}
	return map[string]file{
		"tiny":    {base, []Section{{Key: "n", Desc: Desc{Elem: Int32, Type: "int32"}, Spans: [][]byte{{42, 0, 0, 0}}}}, Options{}},
		"nested":  {nested, nil, Options{}},
		"fields":  {fields, []Section{spanSection("n", []byte{42})}, Options{}},
		"types":   {base, everyType(), Options{}},
		"lz4":     {base, []Section{{Key: "text", Desc: Desc{Elem: String, Shape: []int64{int64(len(text))}, Type: "string"}, Spans: [][]byte{text}}}, Options{ChunkSize: 4096, Compression: Always}},
		"split-0": {first, []Section{{Key: "table", Desc: table, Spans: [][]byte{noise}, Stores: split(0)}}, small},
		"split-1": {second, []Section{{Key: "table", Desc: table, Spans: [][]byte{noise}, Stores: split(1)}}, small},
		"stream":  {base, []Section{{Key: "own type", Desc: Desc{Type: "main.Grid"}, Source: bytes.NewReader(noise[:5000])}}, small},
	}
}

// everyType has a section of each element type, and a partitioned one.
func everyType() []Section {
	var out []Section
	for e := Opaque; e.known(); e++ {
		n := 2 * max(e.Size(), 1)
		raw := make([]byte, n)
		for i := range raw {
			raw[i] = byte(i)
		}
		if e == Float64 {
			raw = le.AppendUint64(le.AppendUint64(nil, math.Float64bits(-0.5)), 0x7ff8dead0000beef)
		}
		d := Desc{Elem: e, Shape: []int64{2}, Type: "[]" + e.String()}
		if e == Opaque {
			d = Desc{Type: "main.Own"}
		}
		out = append(out, Section{Key: "key of " + e.String(), Desc: d, Spans: [][]byte{raw}})
	}
	return append(out,
		Section{Key: "box", Desc: Desc{Elem: Int16, Shape: []int64{1, 2}, Dist: Partitioned, Global: []int64{3, 4},
			Box: Box{Lo: []int64{1, 2}, Hi: []int64{2, 4}}, Type: "[]int16"}, Spans: [][]byte{{1, 0}, {2, 0}}},
		Section{Key: "empty", Desc: Desc{Elem: Float64, Shape: []int64{0}, Type: "[]float64"}})
}

func goldenName(name string) string { return filepath.Join("testdata", name+".craft") }

func TestGoldenFiles(t *testing.T) {
	for name, g := range golden() {
		t.Run(name, func(t *testing.T) {
			e, err := NewEncoder(g.options)
			require.NoError(t, err)
			var file bytes.Buffer
			_, err = e.Encode(t.Context(), &file, g.header, g.sections)
			require.NoError(t, err)
			if *update {
				require.NoError(t, os.WriteFile(goldenName(name), file.Bytes(), 0o600))
			}
			want, err := os.ReadFile(goldenName(name))
			require.NoError(t, err)
			require.Equal(t, want, file.Bytes(), "the format has changed: files of earlier versions must stay readable")
			r, err := Open(bytes.NewReader(want), int64(len(want)))
			require.NoError(t, err)
			require.NoError(t, r.Verify(t.Context()))
			require.Equal(t, g.header, r.Header())
			require.Len(t, r.Sections(), len(g.sections))
		})
	}
}

// TestIndependentReader runs the reader in Python that was written from
// docs/file-format.md, and compares what it says with what this package reads.
func TestIndependentReader(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	files := map[string][]string{}
	for name := range golden() {
		files[name] = nil
	}
	for i, name := range deltaNames {
		for _, older := range deltaNames[:i] {
			files[name] = append(files[name], goldenName(older))
		}
	}
	for name, older := range files {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"testdata/reader.py", goldenName(name)}, older...)
			out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			var got struct {
				Name        string
				Version     uint64
				Level       uint8
				Flush       bool
				Oldest      uint64
				Iteration   *int64
				Rank, Size  int
				Fingerprint string
				Ancestors   []struct{ Name string }
				Fields      []struct {
					ID  FieldID
					Hex string
				}
				Sections []struct {
					Key, Elem, Type, Hex string
					Dist                 int
					Size                 int64
					Shape                []int64
					Digest               uint64
					Refers               int64
					Missing              int
				}
			}
			require.NoError(t, json.Unmarshal(out, &got), "%s", out)
			r := openGolden(t, name)
			h := r.Header()
			require.Equal(t, []any{h.Name, h.Version, h.Rank, h.Size, string(h.Fingerprint), len(h.Ancestors), h.Level, h.Flush, h.Oldest},
				[]any{got.Name, got.Version, got.Rank, got.Size, got.Fingerprint, len(got.Ancestors), got.Level, got.Flush, got.Oldest})
			require.Equal(t, h.Iteration == NoIteration, got.Iteration == nil)
			require.Len(t, got.Fields, len(h.Fields))
			for i, f := range h.Fields {
				require.Equal(t, []any{f.ID, hexString(f.Data)}, []any{got.Fields[i].ID, got.Fields[i].Hex})
			}
			require.Len(t, got.Sections, len(r.Sections()))
			for i, info := range r.Sections() {
				s := got.Sections[i]
				require.Equal(t, []any{info.Key, info.Desc.Elem.String(), info.Desc.Type, int(info.Desc.Dist), info.Size, info.Digest, info.Split, info.Refers},
					[]any{s.Key, s.Elem, s.Type, s.Dist, s.Size, s.Digest, s.Missing > 0, s.Refers})
				if info.Split {
					continue
				}
				section, _ := r.Section(info.Key)
				raw, err := io.ReadAll(section.NewReader(t.Context()))
				require.NoError(t, err)
				require.Equal(t, hexString(raw), s.Hex)
			}
		})
	}
}

// It also finds every flipped bit of a small file.
func TestIndependentReaderFindsDamage(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	if testing.Short() {
		t.Skip("works for some 10 seconds")
	}
	for _, args := range [][]string{
		{goldenName("tiny")}, {goldenName("fields")}, {goldenName("split-1")}, {goldenName("delta-5"), goldenName("delta-4"), goldenName("delta-3")},
	} {
		args = append([]string{"testdata/reader.py", "--flip-bits"}, args...)
		out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

func hexString(p []byte) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, 2*len(p))
	for _, b := range p {
		out = append(out, digits[b>>4], digits[b&15])
	}
	return string(out)
}
