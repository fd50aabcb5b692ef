package container

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchBytes is the size of the data of the benchmarks: 256 MiB, or
// CRAFT_TEST_BENCH_MIB.
func benchBytes(b *testing.B) int {
	mib := 256
	if text := os.Getenv("CRAFT_TEST_BENCH_MIB"); text != "" {
		var err error
		mib, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	return mib << 20
}

// benchPath is a file in memory, if the machine has a place for it.
func benchPath(b *testing.B) string {
	dir, err := os.MkdirTemp("/dev/shm", "craft-bench-")
	if err != nil {
		return filepath.Join(b.TempDir(), "file")
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "file")
}

func benchSections(raw []byte, n int) []Section {
	sections := make([]Section, n)
	for i := range sections {
		part := raw[len(raw)/8*i/n*8 : len(raw)/8*(i+1)/n*8]
		sections[i] = Section{
			Key:   fmt.Sprintf("value %d", i),
			Desc:  Desc{Elem: Float64, Shape: []int64{int64(len(part) / 8)}, Type: "[]float64"},
			Spans: [][]byte{part},
		}
	}
	return sections
}

// BenchmarkEncode writes random numbers into a new file, beside a plain loop of
// large writes of the same bytes.
func BenchmarkEncode(b *testing.B) {
	raw := noise.bytes(rand.New(rand.NewPCG(1, 0)), benchBytes(b))
	path := benchPath(b)
	write := func(name string, f func(w io.Writer) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				require.NoError(b, os.RemoveAll(path))
				b.StartTimer()
				out, err := os.Create(path)
				require.NoError(b, err)
				require.NoError(b, f(out))
				require.NoError(b, out.Close())
			}
		})
	}
	write("plain", func(w io.Writer) error {
		for at := 0; at < len(raw); at += 4 << 20 {
			if _, err := w.Write(raw[at:min(at+4<<20, len(raw))]); err != nil {
				return err
			}
		}
		return nil
	})
	e := newTestEncoder(b, Options{})
	for _, n := range []int{1, 100} {
		sections := benchSections(raw, n)
		write(fmt.Sprintf("values=%d", n), func(w io.Writer) error {
			_, err := e.Encode(context.Background(), w, someHeader(), sections)
			return err
		})
	}
}

// BenchmarkRestore reads a file back into memory that exists, beside a plain
// loop of large reads of the same file.
func BenchmarkRestore(b *testing.B) {
	raw := noise.bytes(rand.New(rand.NewPCG(1, 0)), benchBytes(b))
	path := benchPath(b)
	for _, n := range []int{1, 100} {
		out, err := os.Create(path)
		require.NoError(b, err)
		sections := benchSections(raw, n)
		_, err = newTestEncoder(b, Options{}).Encode(context.Background(), out, someHeader(), sections)
		require.NoError(b, err)
		require.NoError(b, out.Close())
		restore := func(name string, f func(in *os.File, size int64) error) {
			b.Run(fmt.Sprintf("values=%d/%s", n, name), func(b *testing.B) {
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					in, err := os.Open(path)
					require.NoError(b, err)
					info, err := in.Stat()
					require.NoError(b, err)
					require.NoError(b, f(in, info.Size()))
					require.NoError(b, in.Close())
				}
			})
		}
		restore("plain", func(in *os.File, _ int64) error {
			for at := 0; at < len(raw); at += 4 << 20 {
				if _, err := io.ReadFull(in, raw[at:min(at+4<<20, len(raw))]); err != nil {
					return err
				}
			}
			return nil
		})
		restore("container", func(in *os.File, size int64) error {
			r, err := Open(in, size)
			if err != nil {
				return err
			}
			for i := range sections {
				s, _ := r.Section(sections[i].Key)
				if err := s.ReadSpans(context.Background(), sections[i].Spans); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// BenchmarkScalars is the work for a version of 1,000 numbers, without a file.
func BenchmarkScalars(b *testing.B) {
	raw := noise.bytes(rand.New(rand.NewPCG(1, 0)), 8*1000)
	sections := benchSections(raw, 1000)
	e := newTestEncoder(b, Options{})
	data := encodeWith(b, e, sections...)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := e.Encode(context.Background(), io.Discard, someHeader(), sections); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("restore", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := openFile(b, data)
			for i := range sections {
				s, _ := r.Section(sections[i].Key)
				if err := s.ReadSpans(context.Background(), sections[i].Spans); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
